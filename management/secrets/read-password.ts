import { homedir } from 'node:os';
import { join } from 'node:path';
import { codeOf, readIfThere } from '#lib/files/write-file';
import { Problem } from '../problem.ts';

/** Lies outside of the state folder, so that no copy of that folder holds both. */
export function usualPasswordFile(environment: NodeJS.ProcessEnv): string {
  const folder = environment.XDG_CONFIG_HOME ?? join(environment.HOME ?? homedir(), '.config');
  return join(folder, 'vmcp', 'secrets-password');
}

/**
 * Reads VMCP_SECRETS_PASSWORD, else the first line of VMCP_SECRETS_PASSWORD_FILE or the default file.
 * @throws Problem `secrets_locked`
 */
export function readPassword(environment: NodeJS.ProcessEnv): string | undefined {
  const { VMCP_SECRETS_PASSWORD: text, VMCP_SECRETS_PASSWORD_FILE: named } = environment;
  if (text !== undefined && text !== '') return text;
  if (named === undefined || named === '') return firstLine(readFile(usualPasswordFile(environment)));
  const password = firstLine(readFile(named));
  if (password !== undefined) return password;
  throw new Problem(
    'secrets_locked',
    `${named} holds no password: VMCP_SECRETS_PASSWORD_FILE names it; write it there`,
  );
}

function readFile(path: string): string | undefined {
  try {
    return readIfThere(path);
  } catch (cause) {
    const said = codeOf(cause) ?? 'unknown';
    throw new Problem('secrets_locked', `${path} with the password of the secrets cannot be read (${said})`, { cause });
  }
}

function firstLine(text: string | undefined): string | undefined {
  const line = text?.split(/\r?\n/)[0];
  return line === '' ? undefined : line;
}
