import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const OF_A_PROJECT = join('node_modules', '.bin');

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns its name if on the shell's PATH, npx if npx started it, else its path. PATH entries that npm adds do not count. */
export function nameProgram(environment: NodeJS.ProcessEnv, directory: string, entry: string): string {
  const isScript = environment.npm_command !== undefined;
  const path = (environment.PATH ?? '').split(delimiter);
  const folders = isScript ? path.filter((folder) => !folder.endsWith(OF_A_PROJECT)) : path;
  if (folders.some((folder) => isExecutable(join(folder, 'vmcp')))) return 'vmcp';
  if (environment.npm_command === 'exec' || isInProject(directory)) return 'npx vmcp';
  return `node ${quoted(entry)}`;
}

function isInProject(directory: string): boolean {
  if (existsSync(join(directory, OF_A_PROJECT, 'vmcp'))) return true;
  const parent = dirname(directory);
  return parent !== directory && isInProject(parent);
}
