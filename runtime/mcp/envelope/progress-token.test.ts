import { describe, expect, it } from '@jest/globals';
import { decodeBackendMessage } from './decode-backend-message.ts';
import { progressTokenOf, reportedToken } from './progress-token.ts';
import { scanEnvelope } from './scan-envelope.ts';

function sentToken(token: string): string | undefined {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":${token}}}}`);
  return progressTokenOf(scanEnvelope(body.toString('latin1'), true, false), body);
}

function tokenIn(token: string): string | undefined {
  const data = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token}}}`;
  const message = decodeBackendMessage(data);
  return message && reportedToken(message, data);
}

describe('progressTokenOf and reportedToken', () => {
  it.each([
    ['a string with escapes', '"\\u00e9\\ud83d\\ude00"', '"é😀"'],
    ['a string of 2,000 characters', `"${'\\u0078'.repeat(2_000)}"`, `"${'x'.repeat(2_000)}"`],
    ['a fraction', '2.50', '2.5'],
    ['an integer with a fraction', '8.0', '8'],
    ['a number beyond the safe integers', '1e21', '1e+21'],
    ['an integer beyond them', '9007199254740993', '9007199254740993'],
  ])('equal for %s', (_of, sent, reported) => {
    expect(sentToken(sent)).toBeDefined();
    expect(tokenIn(reported)).toBe(sentToken(sent));
  });

  it('differ for other values and types', () => {
    expect(tokenIn('"1"')).not.toBe(sentToken('1'));
    expect(tokenIn('9007199254740992')).not.toBe(sentToken('9007199254740993'));
    for (const token of ['null', 'true', '[1]', '{"a":1}']) expect(tokenIn(token)).toBeUndefined();
  });
});
