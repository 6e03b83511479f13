import { readdirSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Manifest } from '#operator/snapshot';
import type { Known } from './build-snapshot.ts';
import { findAppendFlaw } from './find-append-flaw.ts';

/** A relative log file is below the folder in which its runtime runs. */
export function fileFacts(folderOf: (manifest: Manifest) => string): Pick<Known, 'envFiles' | 'appendFlaw'> {
  return {
    envFiles: listEnvFiles,
    // The path stays as written otherwise: a slash at its end, or ".." behind a link, has a meaning for the operating system.
    appendFlaw: (file, manifest) => findAppendFlaw(isAbsolute(file) ? file : `${folderOf(manifest)}/${file}`),
  };
}

/** A folder with more files is a mistake, such as the root of a disk. */
const MOST = 64;

/** Returns sorted absolute paths of visible files; undefined when the folder cannot be read or holds too many. */
export function listEnvFiles(folder: string): string[] | undefined {
  try {
    const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
    if (names.length > MOST) return undefined;
    return names
      .sort()
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile());
  } catch {
    return undefined;
  }
}
