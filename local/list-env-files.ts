import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

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
