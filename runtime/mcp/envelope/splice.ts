/** Puts `text` in the place of the bytes [start, end). */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The body with some ranges replaced; everything else is kept byte for byte. Edits may come in any order and must not
 * overlap. Without edits the same buffer comes back.
 */
export function splice(body: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return body;
  const ordered = edits.length === 1 ? edits : [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  const parts: Buffer[] = [];
  let at = 0;
  for (const edit of ordered) {
    if (edit.start < at || edit.end < edit.start || edit.end > body.length) throw new RangeError('edits overlap');
    parts.push(body.subarray(at, edit.start), Buffer.from(edit.text, 'utf8'));
    at = edit.end;
  }
  parts.push(body.subarray(at));
  return Buffer.concat(parts);
}

/** The same for a message that is a string, with character offsets. */
export function spliceText(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const ordered = edits.length === 1 ? edits : [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  let result = '';
  let at = 0;
  for (const edit of ordered) {
    if (edit.start < at || edit.end < edit.start || edit.end > text.length) throw new RangeError('edits overlap');
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}
