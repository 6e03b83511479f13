import { Scalar } from 'yaml';
import type { Position } from './resource.ts';

const ANY = /[^]/g;
/** Keyed by scalar style. Escaped line breaks add no characters to the value. */
const PIECES: Readonly<Record<string, RegExp>> = {
  [Scalar.PLAIN]: ANY,
  [Scalar.QUOTE_SINGLE]: /''|[^]/g,
  [Scalar.QUOTE_DOUBLE]: /\\(?:x\w{2}|u\w{4}|U\w{8}|[^])|[^]/g,
  [Scalar.BLOCK_LITERAL]: ANY,
  [Scalar.BLOCK_FOLDED]: ANY,
};
const QUOTES: ReadonlySet<string | undefined> = new Set([Scalar.QUOTE_SINGLE, Scalar.QUOTE_DOUBLE]);
const BLOCKS: ReadonlySet<string | undefined> = new Set([Scalar.BLOCK_LITERAL, Scalar.BLOCK_FOLDED]);
/** Double-quoted escapes of characters that `\s` matches; U+0085 (`\N`) is not one of them. */
const BLANK = /^\\[\s\tntvfr_LP]$/;

/** YAML folds and indents white space only, so all other characters have the same order. Undefined if the node has no text. */
export function offsetInScalar(text: string, { range, type, value }: Scalar, within: Position): number | undefined {
  const pieces = PIECES[type ?? ''];
  if (!range || pieces === undefined || typeof value !== 'string') return undefined;
  const raw = text.slice(range[0], range[1]);
  const start = BLOCKS.has(type) ? raw.indexOf('\n') + 1 : Number(QUOTES.has(type));
  const end = raw.length - Number(QUOTES.has(type));
  let left = countVisible(textBefore(value, within));
  let last = start;
  for (const { 0: piece, index } of raw.slice(start, end).matchAll(pieces)) {
    const visible = visibleIn(piece);
    if (visible === 0) continue;
    if (left <= 0) return range[0] + start + index;
    left -= visible;
    last = start + index + piece.length;
  }
  return range[0] + last;
}

function textBefore(value: string, { line, column }: Position): string {
  const lines = value.split('\n').slice(0, line);
  return [...lines.slice(0, -1), lines.at(-1)?.slice(0, column - 1) ?? ''].join('\n');
}

const countVisible = (text: string): number => text.replaceAll(/\s/g, '').length;

function visibleIn(piece: string): number {
  if (piece.length === 1) return countVisible(piece);
  if (BLANK.test(piece)) return 0;
  const code = /^\\[xuU](\w+)$/.exec(piece)?.[1];
  return code === undefined ? 1 : countVisible(String.fromCodePoint(Number.parseInt(code, 16)));
}
