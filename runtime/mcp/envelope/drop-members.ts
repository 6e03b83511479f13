import type { Buffer } from 'node:buffer';
import type { Span } from './scan-envelope.ts';
import { decodeKey, isPlainKey, valueEnd, walkObject } from './scan-json.ts';
import type { Edit } from './splice.ts';

interface Member {
  readonly isGone: boolean;
  readonly start: number;
  readonly end: number;
}

interface Walk {
  readonly text: string;
  readonly isGone: (key: string) => boolean;
  readonly members: Member[];
}

const DEPTH = 3;
const [QUOTE, COMMA, CLOSE] = [0x22, 0x2c, 0x7d];

function visit({ text, isGone, members }: Walk, keyStart: number, keyEnd: number, start: number): number {
  const raw = text.slice(keyStart, keyEnd);
  const key = isPlainKey(raw) ? raw : (decodeKey(raw, true) ?? raw);
  const end = valueEnd(text, start, DEPTH);
  members.push({ isGone: isGone(key), start: keyStart - 1, end });
  return end;
}

/**
 * Returns the edits that remove members from the object at `open`, with their commas. `text`: valid JSON, decoded as
 * latin1, so that offsets are bytes.
 */
export function dropMembers(text: string, open: number, isGone: (key: string) => boolean): Edit[] {
  const members: Member[] = [];
  walkObject(text, open, { text, isGone, members }, visit);
  const edits: Edit[] = [];
  let last: Member | undefined;
  let run: Member | undefined;
  for (const member of members) {
    if (member.isGone) run ??= member;
    else {
      if (run) edits.push({ start: run.start, end: member.start, text: '' });
      run = undefined;
      last = member;
    }
  }
  const final = members.at(-1);
  // At the end of the object, the comma before the run goes too.
  if (run && final) edits.push({ start: last?.end ?? run.start, end: final.end, text: '' });
  return edits;
}

/** Returns whether the object at `open` has no members. */
export function isEmptyObject(body: Buffer, open: number): boolean {
  let at = open + 1;
  while (isSpace(body[at])) at++;
  return body[at] === CLOSE;
}

/** Returns the edit that removes an object member by its value, with its key and one comma. */
export function dropMember(body: Buffer, value: Span): Edit {
  // Only white space and a colon separate key and value.
  const keyEnd = body.lastIndexOf(QUOTE, value.start - 1);
  let start = body.lastIndexOf(QUOTE, keyEnd - 1);
  let end = value.end;
  while (isSpace(body[end])) end++;
  if (body[end] === COMMA) return { start, end: end + 1, text: '' };
  while (isSpace(body[start - 1])) start--;
  return { start: body[start - 1] === COMMA ? start - 1 : start, end: value.end, text: '' };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
