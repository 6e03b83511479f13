import { z } from 'zod';

/** Query parameters of a list that can be read in pages. Without them it comes whole. */
export const PAGING = {
  limit: z.coerce.number().int().min(1).max(1000).optional().describe('Most entries of a page; absent: all.'),
  cursor: z
    .string()
    .max(1024)
    .regex(/^[A-Za-z0-9_-]+$/, 'not a cursor of this list; write next_cursor as it was given')
    .optional()
    .describe('`next_cursor` of the page before.'),
};

/** Where the next page of a list begins; absent on the last. */
export const NEXT_CURSOR = z.string().optional().describe('Cursor of the next page; absent on the last.');

/**
 * A page of a list that is sorted by key. What is added or taken away meanwhile moves no other entry to another page. A cursor is a place in
 * that order and no right: one that nobody gave out is a place, too.
 */
export function pageOf<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): { items: T[]; next: string | undefined } {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const rest = after === undefined ? items : items.filter((item) => keyOf(item) > after);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const isWhole = page.length === rest.length || last === undefined;
  return { items: page, next: isWhole ? undefined : writeCursor(keyOf(last)) };
}

const writeCursor = (key: string): string => Buffer.from(key).toString('base64url');

const readCursor = (cursor: string): string => Buffer.from(cursor, 'base64url').toString('utf8');
