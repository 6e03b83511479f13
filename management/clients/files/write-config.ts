import { existsSync, lstatSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { flushFolder, readIfThere, unfinished, writeDurably } from '#lib/files/write-file';

/** Maximum attempts when another program changes the file concurrently. */
const ATTEMPTS = 5;

/** Result of a write. `backup`: path of the previous content, if there was any. */
export interface Written {
  file: string;
  changed: boolean;
  backup?: string;
}

/** File that vmcp must not change. The message states the reason and the remedy. */
export class ForeignFile extends Error {
  override readonly name = 'ForeignFile';
}

/** Bytes. Some clients store histories of tens of megabytes in their configuration file. */
const LONGEST_FILE = 64 * 1024 * 1024;

/** Returns the target of a symbolic link, as in folders of dotfiles. @throws ForeignFile */
function targetOf(file: string): string {
  const link = lstatSync(file, { throwIfNoEntry: false });
  if (!link) return file;
  if (!link.isSymbolicLink()) return checked(file, file);
  if (!existsSync(file)) throw new ForeignFile(`${file} is a link to nothing: remove it, or make what it leads to`);
  return checked(file, realpathSync(file));
}

/** The file must be a regular one of this user, as this process may run as another user. @throws ForeignFile */
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

/** Returns undefined if the file does not exist. @throws ForeignFile */
export function readClientFile(file: string): string | undefined {
  return readIfThere(targetOf(file));
}

/** Replaces the file only if its program did not change it meanwhile. Keeps backup, mode and links. @throws ForeignFile */
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

function readBackup(target: string): string | undefined {
  const entry = lstatSync(backupOf(target), { throwIfNoEntry: false });
  return entry?.isFile() === true && entry.size <= LONGEST_FILE ? readIfThere(backupOf(target)) : undefined;
}

/** Replaces a path, which may be a link, unless `isWanted` returns false. */
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

/** Returns whether the file was replaced; false if its content is no longer `before`. */
function replace(target: string, before: string | undefined, after: string): boolean {
  const mode = before === undefined ? 0o600 : statSync(target).mode & 0o777;
  if (before !== undefined) place(backupOf(target), before, mode);
  const isReplaced = place(target, after, mode, () => readIfThere(target) === before);
  flushFolder(dirname(target));
  return isReplaced;
}
