import { describe, expect, it } from '@jest/globals';
import type { Answer } from '#runtime/mcp/backends/ask';
import { fetchList } from './fetch-list.ts';

function answerOf(result: Record<string, unknown>): Answer {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 0, result });
  return { text, result, error: undefined, sessionId: undefined, status: 200 };
}
const page = (names: string[], more: object = {}) => answerOf({ tools: names.map((name) => ({ name })), ...more });

describe('fetchList', () => {
  it('reads all pages, takes the shortest TTL, and is public only if all pages are', async () => {
    const pages = [
      page(['a'], { nextCursor: 'two', ttlMs: 9_000, cacheScope: 'public' }),
      page(['b'], { ttlMs: 1_000, cacheScope: 'private' }),
    ];
    const asked: unknown[] = [];
    const list = await fetchList('tools', (cursor) => {
      asked.push(cursor);
      return Promise.resolve(pages[asked.length - 1] ?? page([]));
    });
    expect(asked).toEqual([undefined, 'two']);
    expect(list.entries.map(({ name }) => name)).toEqual(['a', 'b']);
    expect([list.ttlMs, list.isPublic]).toEqual([1_000, false]);
  });

  it('keeps each entry verbatim and omits entries without a name', async () => {
    const entry = '{ "name" : "a", "inputSchema":{"maximum":1.0e3,"$defs":{}} }';
    const text = `{"jsonrpc":"2.0","id":0,"result":{"tools":[${entry},{"x":1},7]}}`;
    const answer = { ...page([]), text, result: (JSON.parse(text) as { result: Record<string, unknown> }).result };
    const list = await fetchList('tools', () => Promise.resolve(answer));
    expect(list.entries.map((one) => one.text)).toEqual([entry]);
  });

  it.each([
    ['never ends its pages', () => page(['a'], { nextCursor: 'again' }), /more than 100 pages/],
    ['has too many entries', () => page(Array.from({ length: 10_001 }, (_, n) => `t${n}`)), /more than 10000 entries/],
    ['is too long', () => page(['x'.repeat(4_000_000)], { nextCursor: 'again' }), /longer than/],
    ['is refused', () => ({ ...page([]), result: undefined, error: { code: -32000, data: null } }), /error -32000/],
  ])('rejects a list that %s', async (_how, make, message) => {
    await expect(fetchList('tools', () => Promise.resolve(make()))).rejects.toThrow(message);
  });
});
