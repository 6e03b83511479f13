import { Scalar } from 'yaml';
import type { Position } from './resource.ts';

type Offset = (raw: string, value: string, within: Position) => number | undefined;

/** Offsets in the text of a scalar, by the way in which it is written. A text that YAML folds is not followed. */
const OFFSETS: Readonly<Record<string, Offset>> = {
  [Scalar.PLAIN]: (raw, value, within) => inOneLine(raw, value, within, 0, () => 1),
  [Scalar.QUOTE_SINGLE]: (raw, value, within) =>
    inOneLine(raw, value, within, 1, (at) => (raw.startsWith("''", at) ? 2 : 1)),
  [Scalar.QUOTE_DOUBLE]: (raw, value, within) => inOneLine(raw, value, within, 1, (at) => escapeLength(raw, at)),
  [Scalar.BLOCK_LITERAL]: inBlock,
};

/** Where a position of a scalar's value stands in the text of its file; undefined where that cannot be told. */
export function offsetInScalar(text: string, node: Scalar, within: Position): number | undefined {
  const { range, type, value } = node;
  if (!range || type === undefined || typeof value !== 'string') return undefined;
  const offset = OFFSETS[type]?.(text.slice(range[0], range[1]), value, within);
  return offset === undefined ? undefined : range[0] + offset;
}

/** `widthAt` says how many characters stand for one character of the value. */
function inOneLine(
  raw: string,
  value: string,
  { line, column }: Position,
  start: number,
  widthAt: (at: number) => number,
): number | undefined {
  if (/[\r\n]/.test(raw)) return undefined;
  const before = value.split('\n').slice(0, line - 1);
  const index = before.reduce((sum, one) => sum + one.length + 1, column - 1);
  let at = start;
  for (let passed = 0; passed < index && at < raw.length; passed++) at += widthAt(at);
  return at;
}

const ESCAPES: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 };

function escapeLength(raw: string, at: number): number {
  return raw[at] === '\\' ? (ESCAPES[raw[at + 1] ?? ''] ?? 2) : 1;
}

/** The first line of a block is its header; the lines of the value follow, indented. */
function inBlock(raw: string, value: string, { line, column }: Position): number | undefined {
  const lines = raw.split('\n');
  const wanted = value.split('\n')[line - 1];
  const written = lines[line]?.replace(/\r$/, '');
  if (wanted === undefined || written?.endsWith(wanted) !== true) return undefined;
  const before = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
  return before + written.length - wanted.length + column - 1;
}
