import { Buffer } from 'node:buffer';

/** Bytes [start, end). */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Edits may come in any order and must not overlap. Without edits, returns the same buffer. */
export function splice(body: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return body;
  const ordered = inOrder(edits, body.length);
  let length = body.length;
  for (const { start, end, text } of ordered) length += Buffer.byteLength(text) - (end - start);
  const spliced = Buffer.allocUnsafe(length);
  let at = 0;
  let written = 0;
  for (const { start, end, text } of ordered) {
    written += body.copy(spliced, written, at, start);
    written += spliced.write(text, written);
    at = end;
  }
  body.copy(spliced, written, at);
  return spliced;
}

/** Offsets are characters. */
export function spliceText(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  let result = '';
  let at = 0;
  for (const edit of inOrder(edits, text.length)) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

/** @throws RangeError if the edits overlap or exceed the text */
function inOrder(edits: readonly Edit[], length: number): readonly Edit[] {
  // Most edits come in order, and sorting allocates more than the whole splice.
  if (areInOrder(edits, length)) return edits;
  const ordered = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  if (!areInOrder(ordered, length)) throw new RangeError('edits overlap');
  return ordered;
}

function areInOrder(edits: readonly Edit[], length: number): boolean {
  let at = 0;
  for (const { start, end } of edits) {
    if (start < at || end < start || end > length) return false;
    at = end;
  }
  return true;
}
