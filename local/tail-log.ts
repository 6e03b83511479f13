import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '#lib/files/code-of';

/** At most so much of the end of a file is looked at for its last lines, and read at once. */
const MOST = 256 * 1024;
const LOOK = 300;

/** Reads from an offset to the end, at most `MOST` bytes; undefined where there is no file. */
function readFrom(path: string, from: number | undefined): { bytes: Buffer; start: number } | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return undefined;
    throw problem;
  }
  try {
    const { size } = fstatSync(descriptor);
    // A smaller file is a new one: the former was put aside.
    const start = from === undefined ? Math.max(0, size - MOST) : from > size ? 0 : from;
    const bytes = Buffer.alloc(Math.min(size - start, MOST));
    return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, start)), start };
  } finally {
    closeSync(descriptor);
  }
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => `${line}\n`);
}

/** Lines of a file, each with its line break, and the offset after them. */
export interface ReadLines {
  lines: string[];
  offset: number;
}

/** The last lines that there are; with `follow` only whole ones. */
export function lastLines(path: string, count: number, follow: boolean): ReadLines {
  const first = readFrom(path, undefined);
  if (!first) return { lines: [], offset: 0 };
  const whole = follow ? first.bytes.lastIndexOf('\n') + 1 : first.bytes.length;
  const all = linesOf(first.bytes.subarray(0, whole).toString('utf8'));
  // The first line of a cut is not whole.
  const known = first.start > 0 ? all.slice(1) : all;
  return { lines: count === 0 ? [] : known.slice(-count), offset: first.start + whole };
}

/** Whole lines after an offset. A file that is put aside is followed by the one in its place. */
export function nextLines(path: string, offset: number): ReadLines {
  const next = readFrom(path, offset);
  if (!next) return { lines: [], offset: 0 };
  const end = next.bytes.lastIndexOf('\n') + 1;
  // A line longer than what is read at once comes in parts.
  const taken = end === 0 && next.bytes.length === MOST ? MOST : end;
  return { lines: linesOf(next.bytes.subarray(0, taken).toString('utf8')), offset: next.start + taken };
}

/**
 * The last lines of a file, each with its line break, and with `follow` those that are appended, until `signal`. A file that is put aside is
 * followed by the one in its place. A line that is not whole yet comes when it is.
 */
export async function* tailLog(
  path: string,
  { lines: count, follow, signal }: { lines: number; follow: boolean; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  let { lines, offset } = lastLines(path, count, follow);
  yield* lines;
  while (follow && !signal.aborted) {
    await sleep(LOOK, undefined, { signal }).catch(() => undefined);
    ({ lines, offset } = nextLines(path, offset));
    yield* lines;
  }
}
