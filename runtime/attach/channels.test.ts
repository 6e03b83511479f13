import { describe, expect, it } from '@jest/globals';
import { CLOSE_STDIN, readMessage, toStdin } from './channels.ts';

const message = (channel: number, text: string) => Buffer.concat([Buffer.of(channel), Buffer.from(text)]);
const failure = { kind: 'Status', status: 'Failure', message: 'container mcp is not running' };

describe('channels of an attached container', () => {
  it('identifies the channel by the first byte', () => {
    expect(toStdin(Buffer.from('{}\n'))).toEqual(message(0, '{}\n'));
    expect([...CLOSE_STDIN]).toEqual([255, 0]);
    expect(readMessage(message(1, '{"id":1}'))).toEqual({ output: Buffer.from('{"id":1}') });
  });

  it.each<[string, string | undefined]>([
    [JSON.stringify(failure), failure.message],
    ['{"status":"Success"}', undefined],
    ['not JSON', 'not JSON'],
    ['null', 'null'],
  ])('returns the end that the API server reports: %s', (text, ended) => {
    expect(readMessage(message(3, text))).toEqual({ ended });
  });

  it('ignores unrequested channels and empty messages', () => {
    expect(readMessage(message(2, 'a log line'))).toBeUndefined();
    expect(readMessage(Buffer.alloc(0))).toBeUndefined();
  });
});
