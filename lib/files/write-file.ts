import { randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Returns the text of a file; undefined if the file does not exist. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return undefined;
    throw problem;
  }
}

/** Returns a new temporary path in the folder of `path`. */
export const unfinished = (path: string): string => `${path}.${randomBytes(6).toString('hex')}.tmp`;

/** Returns whether a name is a temporary one. Only a killed process leaves such a file. */
export const isUnfinished = (name: string): boolean => /\.[0-9a-f]{12}\.tmp$/.test(name);

/**
 * Writes a file atomically: a reader sees the former or the new text. Does not write an equal text, so that watchers are not woken.
 * Returns whether it wrote the file. Mode 0600, like all files below the state folder.
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

/** Writes a new file and flushes it to the disk. Only its owner can read it until it is complete. */
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
 * Replaces a file whose content exists nowhere else. It flushes the new content to the disk before it replaces the former file, so that
 * a killed process or a machine that stops loses neither. Mode 0600.
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

/** Flushes the renames in a folder to the disk. Windows cannot open folders, and flushes renames itself. */
export function flushFolder(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Returns the code of an error of the operating system or of Node, e.g. `ENOENT`; undefined for other values. Codes contain no secret. */
export function codeOf(problem: unknown): string | undefined {
  if (typeof problem !== 'object' || problem === null || !('code' in problem)) return undefined;
  return typeof problem.code === 'string' ? problem.code : undefined;
}
