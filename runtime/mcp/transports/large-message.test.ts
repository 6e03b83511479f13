import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ID_PLACE } from '#runtime/mcp/backends/large-answer';
import { LargeMessage, type ReadMessage } from './large-message.ts';
import { Utf8Pieces } from './utf8-pieces.ts';

function read(text: string | Buffer, size: number, head = size): ReadMessage {
  const message = new LargeMessage();
  const bytes = Buffer.from(text);
  message.push(bytes.subarray(0, head));
  for (let at = head; at < bytes.length; at += size) message.push(bytes.subarray(at, at + size));
  return message.end();
}

/** Returns the answer with this id inserted. */
function withId(read: ReadMessage, id: string): string {
  if (read.type !== 'answer') throw new Error(read.type);
  return Buffer.concat(read.pieces.map((piece) => (piece === ID_PLACE ? Buffer.from(id) : piece))).toString();
}

describe('LargeMessage', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":12,"result":{"id":3,"a":"é"}}', '12'],
    ['{"result":{"a":[{"id":1}]},"jsonrpc":"2.0","id":12}', '12'],
    ['{"result":{"a":1}, "id" : "a\\"b" , "jsonrpc":"2.0"}', '"a\\"b"'],
    ['{"result":{"a":1},"\\u0069d":-7 ,"jsonrpc":"2.0"}', '-7'],
  ])('removes the id from %s', (text, id) => {
    for (const size of [1, 2, 5, 1000]) {
      const message = read(text, size, text.indexOf('"result"') + 10);
      expect(message).toMatchObject({ type: 'answer', idText: id, kind: 'result' });
      expect(JSON.parse(withId(message, '99'))).toEqual({ ...(JSON.parse(text) as object), id: 99 });
    }
  });

  it('removes reserved keys from _meta, and line ends from the text', () => {
    const text = '{"result":{"_meta":{"io.modelcontextprotocol/x":1,"mine":2},\r"a":1},"jsonrpc":"2.0","id":1}\r';
    const message = read(text, 7, 20);
    expect(JSON.parse(withId(message, '1'))).toEqual({ jsonrpc: '2.0', id: 1, result: { _meta: { mine: 2 }, a: 1 } });
    expect(withId(message, '1')).not.toMatch(/[\r\n]/);
  });

  it.each(['{"jsonrpc":"2.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","method":"x","params":{}}', 'no JSON at all'])(
    'returns %s unchanged',
    (text) => {
      expect(read(text, 3, 15)).toEqual({ type: 'other', message: Buffer.from(text) });
    },
  );

  it.each([
    '{"jsonrpc":"2.0","result":{"a":1},"result":{},"id":17}',
    '{"jsonrpc":"2.0","result":{"a":1},"method":"x","id":17}',
    '{"jsonrpc":"2.0","result":{"a":1}}}}}}}}}}}}}}},"id":17}',
  ])('keeps only the ends of %s', (text) => {
    const message = read(text, 4, 30);
    expect(message.type).toBe('unreadable');
    expect(message.type === 'unreadable' && message.tail.toString()).toMatch(/"id":17\}$/);
  });
});

describe('Utf8Pieces', () => {
  const inPieces = (bytes: Buffer, size: number) => {
    const pieces = new Utf8Pieces();
    const out: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) out.push(pieces.push(bytes.subarray(at, at + size)));
    return Buffer.concat(out);
  };

  it('passes text unchanged for any chunk borders', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 50 }), fc.integer({ min: 1, max: 9 }), (text, size) => {
        expect(inPieces(Buffer.from(text.toWellFormed()), size).toString()).toBe(text.toWellFormed());
      }),
    );
  });

  it('returns valid text for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), fc.integer({ min: 1, max: 9 }), (bytes, size) => {
        const end = Buffer.from('end');
        const passed = inPieces(Buffer.concat([Buffer.from(bytes), end]), size);
        expect(Buffer.from(passed.toString()).equals(passed)).toBe(true);
        expect(passed.toString().endsWith('end')).toBe(true);
      }),
    );
  });
});
