import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '#lib/files/write-file';

/** Bytes read at once, and searched at the end of a file for its last lines. */
const MOST = 256 * 1024;
const LOOK = 300;

/** Reads at most `MOST` bytes; returns undefined when the file does not exist. */
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
    // A file smaller than the offset is a new one: the previous file was renamed.
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

/** Lines end with a line break; the offset is after them. */
export interface ReadLines {
  lines: string[];
  offset: number;
}

export function lastLines(path: string, count: number, follow: boolean): ReadLines {
  const first = readFrom(path, undefined);
  if (!first) return { lines: [], offset: 0 };
  const whole = follow ? first.bytes.lastIndexOf('\n') + 1 : first.bytes.length;
  const all = linesOf(first.bytes.subarray(0, whole).toString('utf8'));
  // The first line after a cut is incomplete.
  const known = first.start > 0 ? all.slice(1) : all;
  return { lines: count === 0 ? [] : known.slice(-count), offset: first.start + whole };
}

/** Returns complete lines only. After a rotation, continues with the new file. */
export function nextLines(path: string, offset: number): ReadLines {
  const next = readFrom(path, offset);
  if (!next) return { lines: [], offset: 0 };
  const end = next.bytes.lastIndexOf('\n') + 1;
  // A line longer than one read is returned in parts.
  const taken = end === 0 && next.bytes.length === MOST ? MOST : end;
  return { lines: linesOf(next.bytes.subarray(0, taken).toString('utf8')), offset: next.start + taken };
}

/** Yields appended complete lines with `follow` until `signal` aborts, across rotations. */
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
