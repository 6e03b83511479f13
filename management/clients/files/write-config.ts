import { existsSync, lstatSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { flushFolder, readIfThere, unfinished, writeDurably } from '#lib/files/write-file';

/** How often a change of the file in between is followed by a new attempt. */
const ATTEMPTS = 5;

/** What was done to a file. `backup`: the former content, where there was one. */
export interface Written {
  file: string;
  changed: boolean;
  backup?: string;
}

/** Somebody else's file is not ours to change: what it is, and what to do. */
export class ForeignFile extends Error {
  override readonly name = 'ForeignFile';
}

/** Bytes; clients keep histories of tens of megabytes in theirs. */
const LONGEST_FILE = 64 * 1024 * 1024;

/** The file that a name stands for, where it is a link, as in folders of dotfiles. @throws ForeignFile */
function targetOf(file: string): string {
  const link = lstatSync(file, { throwIfNoEntry: false });
  if (!link) return file;
  if (!link.isSymbolicLink()) return checked(file, file);
  if (!existsSync(file)) throw new ForeignFile(`${file} is a link to nothing: remove it, or make what it leads to`);
  return checked(file, realpathSync(file));
}

/** Another user's file, and what is none, is never written: this program may be another user's, too. */
function checked(file: string, target: string): string {
  const entry = statSync(target);
  const shown = file === target ? file : `${file} (${target})`;
  if (!entry.isFile()) throw new ForeignFile(`${shown} is no file: move it away`);
  const me = process.getuid?.();
  if (me !== undefined && entry.uid !== me)
    throw new ForeignFile(`${shown} belongs to another user: run vmcp as that user, or change its owner`);
  if (entry.size > LONGEST_FILE) throw new ForeignFile(`${shown} is longer than ${LONGEST_FILE} bytes: shorten it`);
  return target;
}

/** Text of a client's file; undefined where there is none. @throws ForeignFile */
export function readClientFile(file: string): string | undefined {
  return readIfThere(targetOf(file));
}

/**
 * Changes a file of somebody else's program, at once and only if nobody else changed it meanwhile: clients write theirs too.
 * The former content is kept beside it; `change` is given that of the change before. Mode and links stay. @throws ForeignFile
 */
export function changeFile(file: string, change: (text: string, backup: string | undefined) => string): Written {
  const target = targetOf(file);
  mkdirSync(dirname(target), { recursive: true });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = readIfThere(target);
    const after = change(before ?? '', readBackup(target));
    if (before === after) return { file, changed: false };
    if (replace(target, before, after)) {
      return before === undefined ? { file, changed: true } : { file, changed: true, backup: backupOf(target) };
    }
  }
  throw new Error(`${file} is being changed by another program all the time: close the client and try again`);
}

const backupOf = (target: string): string => `${target}.vmcp-backup`;

/** What was written there before, where it is what a backup is: a file, and no link. */
function readBackup(target: string): string | undefined {
  const entry = lstatSync(backupOf(target), { throwIfNoEntry: false });
  return entry?.isFile() === true && entry.size <= LONGEST_FILE ? readIfThere(backupOf(target)) : undefined;
}

/** Puts a text in the place of what has this name, which may be a link, unless it is not wanted any more. */
function place(path: string, text: string, mode: number, isWanted = () => true): boolean {
  const temporary = unfinished(path);
  try {
    writeDurably(temporary, text, mode);
    if (!isWanted()) return false;
    renameSync(temporary, path);
    return true;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Whether it was replaced: not when its content is no longer `before`. */
function replace(target: string, before: string | undefined, after: string): boolean {
  const mode = before === undefined ? 0o600 : statSync(target).mode & 0o777;
  if (before !== undefined) place(backupOf(target), before, mode);
  const isReplaced = place(target, after, mode, () => readIfThere(target) === before);
  flushFolder(dirname(target));
  return isReplaced;
}
