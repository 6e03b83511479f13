import { describe, expect, it } from '@jest/globals';
import { decodeBackendMessage } from '../envelope/decode-backend-message.ts';
import { spliceText } from '../envelope/splice.ts';
import { readTask, taskEdits, taskOpen } from './rewrite-task.ts';

function decoded(text: string) {
  const message = decodeBackendMessage(text);
  if (!message) throw new TypeError('not reached');
  return message;
}
const rewrite = (text: string) => spliceText(text, taskEdits(text, taskOpen(decoded(text).spans), 'new'));
const answer = (result: string) => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

describe('taskEdits', () => {
  it.each([
    ['{"taskId":"ö","n":1.0}', '{"taskId":"new","n":1.0}'],
    ['{ "task\\u0049d" : "own", "x": {"taskId":"own"} }', '{ "task\\u0049d" : "new", "x": {"taskId":"own"} }'],
    ['{"resultType":"complete"}', '{"resultType":"complete"}'],
  ])('replaces only the id: %s', (result, expected) => {
    expect(rewrite(answer(result))).toBe(answer(expected));
  });

  it.each([
    ['{}', '{"resultType":"complete"}'],
    ['{ "n":1e2}', '{"resultType":"complete", "n":1e2}'],
    ['{"a":{"resultType":1}}', '{"resultType":"complete","a":{"resultType":1}}'],
    ['{"resultType":"other"}', '{"resultType":"other"}'],
    ['null', 'null'],
  ])('completes the result inside: %s', (result, expected) => {
    expect(rewrite(answer(`{"taskId":"a","result":${result}}`))).toBe(answer(`{"taskId":"new","result":${expected}}`));
  });
});

describe('readTask', () => {
  it.each([
    ['{"taskId":"a","status":"working","ttlMs":5}', { taskId: 'a', hasEnded: false, ttl: 5 }],
    ['{"taskId":"a","status":"failed","ttlMs":null}', { taskId: 'a', hasEnded: true, ttl: undefined }],
    ['{"taskId":"a","ttlMs":-1}', { taskId: 'a', hasEnded: false, ttl: undefined }],
    ['{"taskId":1}', undefined],
    ['{}', undefined],
  ])('reads %s', (result, task) => {
    expect(readTask(answer(result), taskOpen(decoded(answer(result)).spans))).toEqual(task);
  });
});
