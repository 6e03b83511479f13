import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeEventId, encodeEventId } from './event-id.ts';

fc.configureGlobal({ seed: 20_251_125 });

const part = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.toWellFormed());
const position = fc.record({ backend: part, stream: part, original: part });

describe('encodeEventId', () => {
  it('encodes backend, stream and original id for use in a header', () => {
    fc.assert(
      fc.property(position, (sent) => {
        const id = encodeEventId(sent)!;
        expect(id).toMatch(/^[!-~]*$/);
        expect(decodeEventId(id)).toEqual(sent);
      }),
    );
  });

  it('returns distinct ids if any part differs', () => {
    fc.assert(
      fc.property(position, position, (a, b) => {
        expect(encodeEventId(a) === encodeEventId(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
    expect(encodeEventId({ backend: 'a:b', stream: '', original: 'c' })).not.toBe(
      encodeEventId({ backend: 'a', stream: 'b', original: 'c' }),
    );
  });

  it.each(['', 'a:b', 'a:b:c:d', 'a:%:c', 'a:%61:c', '%ff:b:c', 'a:b:é', `a:b:${'c'.repeat(3000)}`])(
    'returns no id that decodes to %p',
    (text) => {
      expect(decodeEventId(text)).toBeUndefined();
    },
  );

  it('returns no id that is too long', () => {
    expect(encodeEventId({ backend: 'a', stream: 'b', original: 'x'.repeat(3000) })).toBeUndefined();
  });
});
