import { accessSync, constants, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '#lib/files/write-file';
import { explainAppend, NO_REGULAR_FILE, STANDARD_STREAMS } from '#lib/files/explain-append';

const { W_OK, X_OK } = constants;

/** Accepts a missing file. Returns undefined if no reason is known. Writes nothing. */
export function findAppendFlaw(path: string): string | undefined {
  if (STANDARD_STREAMS.has(path)) return undefined;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return explainAppend('EISDIR');
    if (found && !found.isFile() && !found.isCharacterDevice()) return NO_REGULAR_FILE;
    if (found) accessSync(path, W_OK);
    else return findCreateFlaw(path);
    return undefined;
  } catch (problem) {
    return explainAppend(codeOf(problem));
  }
}

/** A link to a missing file creates its target. @throws Error of the operating system */
function findCreateFlaw(path: string): string | undefined {
  if (path.endsWith('/')) return explainAppend('EISDIR');
  const folder = `${dirname(path)}/`;
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) {
    accessSync(folder, W_OK | X_OK);
    return undefined;
  }
  const target = readlinkSync(path);
  return findAppendFlaw(target.startsWith('/') ? target : folder + target);
}
