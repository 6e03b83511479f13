import { describe, expect, it } from '@jest/globals';
import { pageOf, PAGING } from './paging.ts';

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

  it.each([
    ['YQ', ['b', 'c', 'd', 'ö']],
    ['YmI', ['c', 'd', 'ö']],
    ['0', names],
    ['_', names],
    ['-'.repeat(1024), []],
  ])('takes a cursor that nobody gave out as a place in the order: %s', (cursor, items) => {
    expect(pageOf(names, key, { cursor }).items).toEqual(items);
  });

  it.each(['???', '', 'a b', 'a'.repeat(1025)])('takes no cursor that is written otherwise: %j', (cursor) => {
    expect(PAGING.cursor.safeParse(cursor).success).toBe(false);
  });
});
