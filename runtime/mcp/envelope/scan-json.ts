// Invalid JSON gives meaningless results: also parse the text natively, or rely only on the levels that were walked.

/** Deeper text breaks recursive parsers behind the gateway. */
export const MAX_DEPTH = 256;

/** Returned instead of a position. */
export const MALFORMED = -1;
export const TOO_DEEP = -2;

const QUOTE = 0x22;
export const BRACE = 0x7b;
export const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
export const CLOSE_BRACE = 0x7d;
export const CLOSE_BRACKET = 0x5d;
const LOOK_AHEAD = 8;

/** Never reads beyond the end, because V8 would then compile slower code permanently. */
export function skipSpace(text: string, at: number): number {
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c > 0x20 || (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09)) return at;
  }
  return at;
}

/** `from`: the string's first character. MALFORMED: it is not closed. */
export function stringEnd(text: string, from: number): number {
  let at = from;
  for (;;) {
    // A manual loop finds a near quote faster than a native search, and a distant one much slower.
    const near = at + LOOK_AHEAD;
    while (at < near) {
      const c = text.charCodeAt(at);
      if (c === QUOTE) return at;
      at += c === BACKSLASH ? 2 : 1;
    }
    const quote = text.indexOf('"', at);
    if (quote < 0) return MALFORMED;
    let slash = quote - 1;
    while (slash >= at && text.charCodeAt(slash) === BACKSLASH) slash--;
    if ((quote - slash) % 2 === 1) return quote;
    at = quote + 1;
  }
}

function scalarEnd(text: string, at: number): number {
  const start = at;
  for (;;) {
    const c = text.charCodeAt(at);
    // NaN at the end of the text fails every comparison with >.
    if (!(c > 0x20) || c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET) return at === start ? MALFORMED : at;
    at++;
  }
}

/** Returns the position after the value, MALFORMED or TOO_DEEP. `depth`: the nesting around the value. */
export function valueEnd(text: string, at: number, depth: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) {
    const end = stringEnd(text, at + 1);
    return end < 0 ? end : end + 1;
  }
  if ((first | 0x20) !== BRACE) return scalarEnd(text, at);
  const remaining = MAX_DEPTH - depth;
  let open = 0;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) {
      at = stringEnd(text, at + 1);
      if (at < 0) return MALFORMED;
    } else if ((c | 0x20) === BRACE) {
      // `{` and `[` differ in one bit, and so do `}` and `]`.
      if (++open > remaining) return TOO_DEEP;
    } else if ((c | 0x20) === CLOSE_BRACE && --open === 0) return at + 1;
  }
  return MALFORMED;
}

/** [keyStart, keyEnd) is the key as written, `start` the first position of the value. */
export type VisitMember<Context> = (
  context: Context,
  keyStart: number,
  keyEnd: number,
  start: number,
) => number; /* position after the value, MALFORMED or TOO_DEEP */

/** Returns the position after the object, or the code with which a visit stopped. */
export function walkObject<Context>(text: string, open: number, context: Context, visit: VisitMember<Context>): number {
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) return MALFORMED;
    const keyEnd = stringEnd(text, at + 1);
    if (keyEnd < 0) return MALFORMED;
    const colon = skipSpace(text, keyEnd + 1);
    if (text.charCodeAt(colon) !== COLON) return MALFORMED;
    const end = visit(context, at + 1, keyEnd, skipSpace(text, colon + 1));
    if (end < 0) return end;
    at = skipSpace(text, end);
    const next = text.charCodeAt(at);
    if (next === CLOSE_BRACE) return at + 1;
    if (next !== COMMA) return MALFORMED;
    at = skipSpace(text, at + 1);
  }
}

export function isPlainKey(key: string): boolean {
  for (let i = 0; i < key.length; i++) {
    const c = key.charCodeAt(i);
    if (c > 0x7e || c === BACKSLASH) return false;
  }
  return true;
}

/** Undefined if it is not a JSON string. */
export function decodeKey(key: string, isLatin1: boolean): string | undefined {
  const text = isLatin1 ? Buffer.from(key, 'latin1').toString('utf8') : key;
  try {
    const decoded: unknown = JSON.parse(`"${text}"`);
    return typeof decoded === 'string' ? decoded : undefined;
  } catch {
    return undefined;
  }
}
