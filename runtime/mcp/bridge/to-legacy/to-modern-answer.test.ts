import { describe, expect, it } from '@jest/globals';
import { readModernMessage } from './modern-message.ts';
import { toModernAnswer } from './to-modern-answer.ts';

const request = (method: string) =>
  readModernMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"uri":"a:b"}}`));

function modern(method: string, answer: string) {
  const { status, body } = toModernAnswer(Buffer.from(`{"jsonrpc":"2.0","id":7,${answer}}`), 'result', {
    ...{ method, idText: '"é"', message: request(method) },
  });
  return { status, text: body.toString() };
}

const envelope = (rest: string) => `{"jsonrpc":"2.0","id":"é",${rest}}`;

describe('toModernAnswer', () => {
  it.each([
    ['tools/call', '"result":{}', '"result":{"resultType":"complete"}'],
    ['tools/call', '"result":{"a":"ü"}', '"result":{"resultType":"complete","a":"ü"}'],
    ['tools/call', '"result":{"resultType":"input_required","a":1}', '"result":{"resultType":"complete","a":1}'],
    ['resources/read', '"result":{ }', '"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private" }'],
    [
      'resources/read',
      '"result":{"ttlMs":5,"contents":[]}',
      '"result":{"resultType":"complete","cacheScope":"private","ttlMs":5,"contents":[]}',
    ],
    [
      'tools/list',
      '"result":{"tools":[{"name":"a","execution":{"taskSupport":"optional"}},{"execution":{},"x":{"execution":1}}]}',
      '"result":{"resultType":"complete","tools":[{"name":"a"},{"x":{"execution":1}}]}',
    ],
    ['tools/list', '"result":{"tools":[]}', '"result":{"resultType":"complete","tools":[]}'],
  ])('translates a result of %s: %s', (method, answer, expected) => {
    expect(modern(method, answer)).toEqual({ status: 200, text: envelope(expected) });
  });

  it.each([
    [-32602, 200, { code: -32602, message: 'm', data: 1 }],
    [-32601, 404, { code: -32601, message: 'm', data: 1 }],
    [-32002, 200, { code: -32602, message: 'm', data: { uri: 'a:b' } }],
    [-32020, 200, { code: -32603, message: 'm', data: 1 }],
    [-32022, 200, { code: -32603, message: 'm', data: 1 }],
    [-32023, 200, { code: -32023, message: 'm', data: 1 }],
  ])('translates the error %i', (code, status, error) => {
    const answer = modern('resources/read', `"error":{"code":${code},"message":"m","data":1}`);
    expect(answer).toEqual({ status, text: envelope(`"error":${JSON.stringify(error)}`) });
  });
});
