import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mintRequestId, readMintedId } from './mint-request-id.ts';

fc.configureGlobal({ seed: 20_251_125 });

const idText = fc.oneof(fc.string(), fc.maxSafeInteger()).map((id) => JSON.stringify(id));
const backend = fc.string({ maxLength: 63 }).map((name) => name.toWellFormed());

describe('mintRequestId', () => {
  it('encodes the backend and the original id with its type', () => {
    fc.assert(
      fc.property(backend, idText, (name, text) => {
        const minted = mintRequestId(name, text);
        expect(JSON.stringify(minted)).toBe(`"${minted}"`);
        expect(readMintedId(minted)).toEqual({ backend: name, idText: text });
      }),
    );
    expect(readMintedId(mintRequestId('a', '1'))).not.toEqual(readMintedId(mintRequestId('a', '"1"')));
  });

  it('returns distinct ids for distinct requests', () => {
    fc.assert(
      fc.property(backend, idText, backend, idText, (a, idA, b, idB) => {
        expect(mintRequestId(a, idA) === mintRequestId(b, idB)).toBe(a === b && idA === idB);
      }),
    );
  });

  it.each([
    ['a number', 7],
    ['a foreign string', 'abc'],
    ['text that is no id', `a:${encodeURIComponent('1,"result":{}')}`],
    ['a null id', 'a:null'],
    ['an id written in another way', `a:${encodeURIComponent('"\\u0061"')}`],
    ['an escape that is none', 'a:%zz'],
    ['a needless escape', '%61:1'],
    ['three parts', 'a:1:2'],
    ['a very long string', `a:${'1'.repeat(9000)}`],
  ])('mints nothing that readMintedId reads from %s', (_, id) => {
    expect(readMintedId(id)).toBeUndefined();
  });

  it('mints every id that readMintedId accepts', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          backend.map((text) => `${text}:1`),
        ),
        (text) => {
          const read = readMintedId(text);
          if (read) expect(mintRequestId(read.backend, read.idText)).toBe(text);
        },
      ),
    );
  });
});
