import { z } from 'zod';
import { Problem } from './problem.ts';

/** Query parameters of a list that can be read in pages. Without them it comes whole. */
export const PAGING = {
  limit: z.coerce.number().int().min(1).max(1000).optional().describe('Most entries of a page; absent: all.'),
  cursor: z.string().min(1).max(1024).optional().describe('`next_cursor` of the page before.'),
};

/** Where the next page of a list begins; absent on the last. */
export const NEXT_CURSOR = z.string().optional().describe('Cursor of the next page; absent on the last.');

/**
 * A page of a list that is sorted by key. What is added or taken away meanwhile moves no other entry to another page.
 * @throws Problem `bad_request`: a cursor that is none
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

function readCursor(cursor: string): string {
  const key = Buffer.from(cursor, 'base64url').toString('utf8');
  if (writeCursor(key) !== cursor) throw new Problem('bad_request', 'query cursor: not a cursor of this list');
  return key;
}
