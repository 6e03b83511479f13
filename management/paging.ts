import { z } from 'zod';

/** Without these parameters the answer is the whole list. */
export const PAGING = {
  limit: z.coerce.number().int().min(1).max(1000).optional().describe('Most entries of a page; absent: all.'),
  cursor: z
    .string()
    .max(1024)
    .regex(/^[A-Za-z0-9_-]+$/, 'not a cursor of this list; write next_cursor as it was given')
    .optional()
    .describe('`next_cursor` of the page before.'),
};

export const NEXT_CURSOR = z.string().optional().describe('Cursor of the next page; absent on the last.');

/** Changes of other entries move no entry to another page. A cursor grants no permission, so any well-formed one is accepted. */
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
