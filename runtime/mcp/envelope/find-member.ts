import type { Span } from './scan-envelope.ts';
import { decodeKey, isPlainKey, valueEnd, walkObject } from './scan-json.ts';

interface Search {
  readonly text: string;
  readonly wanted: string;
  found: Span | undefined;
}

const DEPTH = 3;

/** Returns the value of a member of the object at `open`. `text`: valid JSON, decoded as latin1 if offsets are bytes. */
export function findMember(text: string, open: number, wanted: string): Span | undefined {
  const search: Search = { text, wanted, found: undefined };
  walkObject(text, open, search, visit);
  return search.found;
}

function visit(search: Search, keyStart: number, keyEnd: number, start: number): number {
  const raw = search.text.slice(keyStart, keyEnd);
  const end = valueEnd(search.text, start, DEPTH);
  if ((isPlainKey(raw) ? raw : decodeKey(raw, true)) === search.wanted) search.found = { start, end };
  return end;
}
