import { describe, expect, it } from '@jest/globals';
import { pageOf } from './paging.ts';

const names = ['a', 'b', 'c', 'd', 'ö'];
const key = (name: string) => name;

describe('a list in pages', () => {
  it('comes whole where nobody asks for pages', () => {
    expect(pageOf(names, key, {})).toEqual({ items: names, next: undefined });
  });

  it.each([1, 2, 3, 4, 5, 6])('gives every entry once by %i at a time, and says which page is the last', (limit) => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = pageOf(names, key, { limit, cursor });
      expect(page.items.length).toBeGreaterThan(0);
      seen.push(...page.items);
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(names);
  });

  it('loses and repeats nothing when entries before the cursor come and go', () => {
    const { next: cursor } = pageOf(names, key, { limit: 2 });
    expect(pageOf(['aa', 'b', 'c', 'd'], key, { limit: 2, cursor }).items).toEqual(['c', 'd']);
    expect(pageOf(['c', 'd'], key, { limit: 2, cursor }).items).toEqual(['c', 'd']);
  });

  it.each(['0', 'a', '_', '-'.repeat(1024)])(
    'takes a cursor that nobody gave out as a place in the order: %s',
    (cursor) => {
      expect(names.join('')).toContain(pageOf(names, key, { cursor }).items.join(''));
    },
  );
});
