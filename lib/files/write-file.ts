import { randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './code-of.ts';

/** The text of a file; undefined when there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return undefined;
    throw problem;
  }
}

/** Where a file is written before it takes the place of another: beside it, under a name of its own. */
export const unfinished = (path: string): string => `${path}.${randomBytes(6).toString('hex')}.tmp`;

/** Whether a name is such a one. A file that stays behind is of a process that was killed. */
export const isUnfinished = (name: string): boolean => /\.[0-9a-f]{12}\.tmp$/.test(name);

/**
 * Writes a file of ours so that a reader sees the former or the new text, never half of it. An equal file is left alone:
 * who watches it is not woken. Returns whether it was written. Mode 0600, as everything below the state folder.
 */
export function writeFileAtomic(path: string, text: string): boolean {
  if (readIfThere(path) === text) return false;
  const temporary = unfinished(path);
  try {
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (problem) {
    rmSync(temporary, { force: true });
    throw problem;
  }
  return true;
}

/** Writes a new file, which is on the disk then. For its owner alone, until all of it is there. */
export function writeDurably(path: string, content: string | Uint8Array, mode = 0o600): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, content);
    if (mode !== 0o600) fchmodSync(file, mode);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a file whose content exists nowhere else. The new content is on the disk before the former file is gone, so that a
 * killed process or a machine that stops loses at most one of them. Mode 0600.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const temporary = unfinished(path);
  try {
    writeDurably(temporary, content);
    renameSync(temporary, path);
  } catch (problem) {
    rmSync(temporary, { force: true });
    throw problem;
  }
  flushFolder(dirname(path));
}

/** A rename is on the disk when its folder is; systems whose folders cannot be opened do so by themselves. */
export function flushFolder(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
