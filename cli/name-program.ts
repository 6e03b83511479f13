import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const OF_A_PROJECT = join('node_modules', '.bin');

/** A word as a shell reads it back. */
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

/**
 * How people call this program in `directory`: by its name where their shell finds it, through npx where npx does, else by its path.
 * What npm puts in front of PATH for its scripts is not there in the shell; what somebody exported is.
 */
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
