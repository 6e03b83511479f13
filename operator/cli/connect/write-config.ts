import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readIfThere } from '#operator/local/write-file';

/** How often a change of the file in between is followed by a new attempt. */
const ATTEMPTS = 5;

/** What was done to a file. `backup`: the former content, where there was one. */
export interface Written {
  file: string;
  changed: boolean;
  backup?: string;
}

/** The file that a name stands for, where it is a link, as in folders of dotfiles. */
function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/**
 * Changes a file of somebody else's program, at once and only if nobody else changed it meanwhile: clients write theirs too.
 * The former content is kept beside it. Mode and links stay.
 */
export function changeFile(file: string, change: (text: string) => string): Written {
  const target = targetOf(file);
  mkdirSync(dirname(target), { recursive: true });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = readIfThere(target);
    const after = change(before ?? '');
    if (before === after) return { file, changed: false };
    if (replace(target, before, after)) {
      return before === undefined ? { file, changed: true } : { file, changed: true, backup: backupOf(target) };
    }
  }
  throw new Error(`${file} is being changed by another program all the time: close the client and try again`);
}

const backupOf = (target: string): string => `${target}.vmcp-backup`;

/** Whether it was replaced: not when its content is no longer `before`. */
function replace(target: string, before: string | undefined, after: string): boolean {
  const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeFileSync(temporary, after, { mode: 0o600 });
    if (before !== undefined) {
      chmodSync(temporary, statSync(target).mode & 0o777);
      copyFileSync(target, backupOf(target));
    }
    if (readIfThere(target) !== before) return false;
    renameSync(temporary, target);
    return true;
  } finally {
    rmSync(temporary, { force: true });
  }
}
