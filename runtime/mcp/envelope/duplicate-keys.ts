import type { Span } from './scan-envelope.ts';
import { BRACE, BRACKET, decodeKey, isPlainKey, skipSpace, stringEnd } from './scan-json.ts';

const QUOTE = 0x22;
const COLON = 0x3a;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

/** `decodeRequest` must have accepted the body. A policy's parser and the backend's could use different duplicates. */
export function duplicateKeysIn(body: Buffer, span: Span): boolean {
  const text = body.toString('latin1', span.start, span.end);
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === BRACE) open.push(new Set());
    else if (c === BRACKET) open.push(undefined);
    else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) open.pop();
    else if (c === QUOTE) {
      const end = stringEnd(text, at + 1);
      if (end < 0) return true;
      const keys = open.at(-1);
      // In an object, a colon follows a key; a comma or brace follows a value.
      if (keys && text.charCodeAt(skipSpace(text, end + 1)) === COLON && isRepeated(keys, text.slice(at + 1, end)))
        return true;
      at = end;
    }
  }
  return false;
}

function isRepeated(keys: Set<string>, raw: string): boolean {
  const key = isPlainKey(raw) ? raw : decodeKey(raw, true);
  if (key === undefined || keys.has(key)) return true;
  keys.add(key);
  return false;
}
