import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { LargeAnswer, NotTheAnswer } from './large-answer.ts';

/** Returns the output for the text in pieces of this size. @throws NotTheAnswer */
function pass(text: string, idText = '1', size = 7): string {
  const answer = new LargeAnswer(idText);
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(...answer.push(bytes.subarray(at, at + size)));
  answer.end();
  return Buffer.concat(out).toString();
}

const RESERVED = 'io.modelcontextprotocol/serverInfo';

describe('LargeAnswer', () => {
  it.each([
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    ' { "result" : { "content" : [ { "text" : "a\\"b}]{" } ] } , "id" : 1 , "jsonrpc" : "2.0" } ',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x","data":{"id":2}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"id":5,"a":"\\\\","_meta":{"mine":1}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"result":{"id":3,"_meta":{"io.modelcontextprotocol/x":1}}}}',
  ])('passes the backend’s bytes unchanged: %s', (text) => {
    for (const size of [1, 2, 7, 1000]) expect(pass(text, '1', size)).toBe(text);
  });

  it.each([
    ['by its plain name', `"result":{"a":1,"_meta":{"${RESERVED}":{"name":"x"},"mine":[1]},"b":2}`],
    ['by an escaped name', `"\\u0072esult":{"a":1,"\\u005fmeta":{"${RESERVED}":1,"mine":[1]},"b":2}`],
  ])('removes forged members of _meta, named %s', (_how, result) => {
    for (const size of [1, 5, 1000]) {
      const passed = pass(`{"jsonrpc":"2.0",${result},"id":1}`, '1', size);
      expect(JSON.parse(passed)).toEqual({ jsonrpc: '2.0', id: 1, result: { a: 1, b: 2, _meta: { mine: [1] } } });
    }
  });

  it.each([
    ['another id', '{"jsonrpc":"2.0","id":2,"result":{}}'],
    ['another kind of id', '{"jsonrpc":"2.0","id":"1","result":{}}'],
    ['another id at the end', '{"jsonrpc":"2.0","result":{"content":[]},"id":2}'],
    ['two ids', '{"jsonrpc":"2.0","id":1,"result":{},"id":1}'],
    ['no id', '{"jsonrpc":"2.0","result":{}}'],
    ['two results', '{"jsonrpc":"2.0","id":1,"result":{},"result":{}}'],
    ['a result in another case', '{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}'],
    ['two _meta', '{"jsonrpc":"2.0","id":1,"result":{"_meta":{},"_meta":{}}}'],
    ['_meta in another case', '{"jsonrpc":"2.0","id":1,"result":{"_Meta":{}}}'],
    ['_meta that is a list', '{"jsonrpc":"2.0","id":1,"result":{"_meta":[1]}}'],
    ['a method', '{"jsonrpc":"2.0","id":1,"method":"x","result":{}}'],
    ['no version', '{"id":1,"result":{}}'],
    ['no end', '{"jsonrpc":"2.0","id":1,"result":{"content":["x"'],
    ['more after its end', '{"jsonrpc":"2.0","id":1,"result":{}}{}'],
    ['two digits apart', '{"jsonrpc":"2.0","id":1 2,"result":{}}'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"result":{}}]'],
    ['nothing', ''],
  ])('rejects %s', (_what, text) => {
    for (const size of [1, 3, 1000]) {
      expect(() => pass(text, '1', size)).toThrow(NotTheAnswer);
      expect(() => pass(text, '12', size)).toThrow(NotTheAnswer);
    }
  });

  it.each([
    ['result', '"result":{"content":[],"isError":false}'],
    ['result', '"result":{"content":[{"isError":true}]}'],
    ['tool_error', '"result":{"content":[{"text":"x"}],"isError" : true }'],
    ['tool_error', '"result":{"isError":true,"content":[]}'],
    ['error', '"error":{"code":1,"message":"x","isError":true}'],
  ])('reports the kind %s for %s', (kind, outcome) => {
    const answer = new LargeAnswer('1');
    answer.push(Buffer.from(`{"jsonrpc":"2.0","id":1,${outcome}}`));
    expect(answer.end()).toBe(kind);
  });

  it('rejects an answer that nests too deeply or has a large outline', () => {
    const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
    expect(() => pass(`{"jsonrpc":"2.0","id":1,"result":{"a":${deep}}}`)).toThrow(NotTheAnswer);
    const wide = Array.from({ length: 30_000 }, (_, index) => `"key${index}":1`).join();
    expect(() => pass(`{"jsonrpc":"2.0","id":1,"result":{${wide}}}`, '1', 65_536)).toThrow(NotTheAnswer);
  });

  it('passes the same bytes as a complete decode, or rejects the same answers', () => {
    const keys = fc.constantFrom('a', 'content', '_meta', 'Result', 'isError', RESERVED, 'id', '\\u005fmeta', '_META');
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('1', 'null', '"x"', '"\\\\"', '"}"', '"é"', ' 1.5e3 '),
        fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join()}]`),
        fc
          .array(fc.tuple(keys, tie('value')), { maxLength: 4 })
          .map((members) => `{${members.map(([key, item]) => `"${key}" : ${item}`).join(' ,')}}`),
      ),
    }));
    const outer = fc.tuple(fc.constantFrom('jsonrpc', 'id', 'result', 'error', 'x', 'ID'), value);
    const message = fc.oneof(
      value.map((result) => `{"jsonrpc":"2.0","id":1,"result":${result}}`),
      fc.array(outer, { maxLength: 4 }).map((members) => {
        const written = members.map(([key, item]) => `"${key}":${key === 'jsonrpc' ? '"2.0"' : item}`);
        return `{${written.join()}}`;
      }),
    );
    fc.assert(
      fc.property(message, fc.integer({ min: 1, max: 20 }), (text, size) => {
        const body = Buffer.from(text);
        const whole = decodeBackendMessage(body);
        const expected = whole?.kind === 'response' && whole.idText === '1' ? whole.clean(body).toString() : 'refused';
        let passed: string;
        try {
          passed = pass(text, '1', size);
        } catch (error) {
          if (!(error instanceof NotTheAnswer)) throw error;
          passed = 'refused';
        }
        expect(passed).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
  });
});
