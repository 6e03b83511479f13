import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '#lib/files/code-of';
import { flushFolder, readIfThere, unfinished } from '#lib/files/write-file';

const NEW_FILE = 0o644;

function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return file;
    throw problem;
  }
}

/**
 * Returns false if the text is no longer `before` (undefined: missing). `after` undefined removes the file. Keeps mode
 * and links; the former text is removed only after the new one is on disk.
 */
export function writeManifest(file: string, before: string | undefined, after: string | undefined): boolean {
  const target = targetOf(file);
  if (after === undefined) return remove(target, before);
  const temporary = unfinished(target);
  try {
    const descriptor = openSync(temporary, 'wx', statSync(target, { throwIfNoEntry: false })?.mode ?? NEW_FILE);
    try {
      writeFileSync(descriptor, after);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (readIfThere(target) !== before) return false;
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
  flushFolder(dirname(target));
  return true;
}

function remove(target: string, before: string | undefined): boolean {
  if (readIfThere(target) !== before) return false;
  rmSync(target, { force: true });
  flushFolder(dirname(target));
  return true;
}
