import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** More of them in a folder is a mistake: that of a whole disk, say. */
const MOST = 64;

/**
 * Absolute paths of the files in a folder of variables, by name; hidden ones are left out. Undefined where the folder cannot be read, or
 * holds too much.
 */
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
