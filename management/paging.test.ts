import { describe, expect, it } from '@jest/globals';
import { pageOf, PAGING } from './paging.ts';

const names = ['a', 'b', 'c', 'd', 'ö'];
const key = (name: string) => name;

describe('pageOf', () => {
  it('returns the whole list without limit and cursor', () => {
    expect(pageOf(names, key, {})).toEqual({ items: names, next: undefined });
  });

  it.each([1, 2, 3, 4, 5, 6])('returns every entry once in pages of %i and marks the last page', (limit) => {
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

  it('neither skips nor repeats entries when entries before the cursor are added or removed', () => {
    const { next: cursor } = pageOf(names, key, { limit: 2 });
    expect(pageOf(['aa', 'b', 'c', 'd'], key, { limit: 2, cursor }).items).toEqual(['c', 'd']);
    expect(pageOf(['c', 'd'], key, { limit: 2, cursor }).items).toEqual(['c', 'd']);
  });

  it.each([
    ['YQ', ['b', 'c', 'd', 'ö']],
    ['YmI', ['c', 'd', 'ö']],
    ['0', names],
    ['_', names],
    ['-'.repeat(1024), []],
  ])('treats an unknown cursor as a position in the order: %s', (cursor, items) => {
    expect(pageOf(names, key, { cursor }).items).toEqual(items);
  });

  it.each(['???', '', 'a b', 'a'.repeat(1025)])('rejects a cursor of another format: %j', (cursor) => {
    expect(PAGING.cursor.safeParse(cursor).success).toBe(false);
  });
});
