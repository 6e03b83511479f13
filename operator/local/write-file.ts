import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
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

/**
 * Writes a file of ours so that a reader sees the former or the new text, never half of it. An equal file is left alone:
 * who watches it is not woken. Returns whether it was written. Mode 0600, as everything below the state folder.
 */
export function writeFileAtomic(path: string, text: string): boolean {
  if (readIfThere(path) === text) return false;
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
  return true;
}
