import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeBackendMessage } from './decode-backend-message.ts';

fc.configureGlobal({ seed: 20_251_125 });

const result = (text: string, id = '1') => `{"jsonrpc":"2.0","id":${id},"result":${text}}`;

describe('decodeBackendMessage', () => {
  it('distinguishes the kinds of messages in bytes and in text', () => {
    for (const read of [(text: string) => Buffer.from(text), (text: string) => text]) {
      expect(decodeBackendMessage(read(result('{"resultType":"complete"}')))).toMatchObject({
        kind: 'response',
        idText: '1',
        answerKind: 'result',
      });
      expect(decodeBackendMessage(read('{"jsonrpc":"2.0","id":"é","error":{"code":1,"message":"x"}}'))).toMatchObject({
        kind: 'response',
        idText: '"é"',
        answerKind: 'error',
      });
      expect(
        decodeBackendMessage(read('{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}')),
      ).toMatchObject({ kind: 'request', idText: '0', method: 'sampling/createMessage' });
      expect(decodeBackendMessage(read('{"jsonrpc":"2.0","method":"notifications/progress"}'))).toMatchObject({
        kind: 'notification',
        idText: undefined,
      });
    }
  });

  it('decodes an id that the backend wrote with escapes', () => {
    expect(decodeBackendMessage(result('{}', '"\\u00e9\\u0061"'))?.idText).toBe('"éa"');
    expect(decodeBackendMessage(Buffer.from(result('{}', '"éa"')))?.idText).toBe('"éa"');
  });

  it('accepts a null id only for an error without a request', () => {
    expect(decodeBackendMessage('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}')).toMatchObject({
      kind: 'response',
      idText: undefined,
    });
    expect(decodeBackendMessage(result('{}', 'null'))).toBeUndefined();
    expect(decodeBackendMessage('{"jsonrpc":"2.0","id":null,"method":"ping"}')).toBeUndefined();
  });

  it('rejects a notification that has an id', () => {
    const params = '"params":{"progressToken":1,"progress":1}';
    for (const method of ['notifications/progress', 'notifications\\/progress'])
      expect(decodeBackendMessage(`{"jsonrpc":"2.0","id":5,"method":"${method}",${params}}`)).toBeUndefined();
  });

  it.each([
    ['no JSON', 'Server started on port 8080'],
    ['half a message', '{"jsonrpc":"2.0","id":1,"result":{"a":'],
    ['two messages', `${result('{}')}${result('{}')}`],
    ['a batch', `[${result('{}')}]`],
    ['two ids', '{"jsonrpc":"2.0","id":1,"id":2,"result":{}}'],
    ['an id in capitals', '{"jsonrpc":"2.0","ID":1,"id":2,"result":{}}'],
    ['two results', '{"jsonrpc":"2.0","id":1,"result":{},"r\\u0065sult":{}}'],
    ['_Meta beside _meta', result('{"_Meta":{"io.modelcontextprotocol/x":1}}')],
    ['no version', '{"id":1,"result":{}}'],
    ['a result in a list', result('[]')],
    ['a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}'],
    ['a fraction as id', result('{}', '1.5')],
    ['deep nesting', result(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`)],
    ['a response with params', '{"jsonrpc":"2.0","id":1,"result":{},"params":{}}'],
  ])('rejects %s', (_, text) => {
    expect(decodeBackendMessage(text)).toBeUndefined();
    expect(decodeBackendMessage(Buffer.from(text))).toBeUndefined();
  });

  it('accepts result keys of an extension that differ by case', () => {
    expect(decodeBackendMessage(result('{"x":1,"X":2}'))?.kind).toBe('response');
  });
});

describe('clean', () => {
  const own = '"io.modelcontextprotocol/serverInfo":{"name":"ö"}';
  it.each([
    ['first', `{${own}, "a":"ä"}`, '{"a":"ä"}'],
    ['last', `{"a":"ä" ,${own}}`, '{"a":"ä"}'],
    ['alone', `{ ${own} }`, '{}'],
    [
      'several',
      `{${own},"a":"ä","io.modelcontextprotocol/x":1,"b":2,"IO.modelcontextprotocol/y":3}`,
      '{"a":"ä","b":2}',
    ],
    ['written with an escape', '{"\\u0069o.modelcontextprotocol/x":1,"a":"ä"}', '{"a":"ä"}'],
  ])('removes a forged reserved key that stands %s', (_, meta, expected) => {
    const surrounded = (text: string) => result(`{"content":["ü"],"_meta":${text},"z":"ü"}`);
    const text = surrounded(meta);
    expect(decodeBackendMessage(text)?.cleanText(text)).toBe(surrounded(expected));
    const body = Buffer.from(text);
    expect(decodeBackendMessage(body)?.clean(body).toString()).toBe(surrounded(expected));
  });

  it('removes reserved keys from params too, except those to keep', () => {
    const text = `{"jsonrpc":"2.0","method":"n","params":{"_meta":{${own},"io.modelcontextprotocol/subscriptionId":1}}}`;
    const message = decodeBackendMessage(text);
    expect(message?.hasReservedMeta).toBe(true);
    expect(message?.cleanText(text, (key) => key.endsWith('subscriptionId'))).toBe(
      '{"jsonrpc":"2.0","method":"n","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}',
    );
  });

  it('returns every other message unchanged', () => {
    const body = Buffer.from(result('{"_meta":{"a":1}, "content":[]}'));
    expect(decodeBackendMessage(body)?.clean(body)).toBe(body);
  });
});

describe('decodeBackendMessage with arbitrary input', () => {
  it('agrees with a JSON parser on every valid message', () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.string()), json, fc.boolean(), (id, value, spaced) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id, result: { value, resultType: 'x' } }, null, spaced ? 2 : 0);
        for (const message of [text, Buffer.from(text)]) {
          const decoded = decodeBackendMessage(message);
          expect(decoded).toMatchObject({ kind: 'response', idText: JSON.stringify(id) });
          const span = decoded!.spans.result!;
          const cut =
            typeof message === 'string'
              ? text.slice(span.start, span.end)
              : message.subarray(span.start, span.end).toString();
          expect(JSON.parse(cut)).toEqual({ value: JSON.parse(JSON.stringify(value)), resultType: 'x' });
        }
      }),
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.string(), (array, text) => {
        for (const message of [Buffer.from(array), text, `{"jsonrpc":"2.0",${text}}`, result(`{${text}}`)])
          expect([undefined, 'request', 'response', 'notification']).toContain(decodeBackendMessage(message)?.kind);
      }),
    );
  });
});
