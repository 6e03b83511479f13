import { readFileSync } from 'node:fs';
import { codeOf } from '#operator/local/code-of';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** Where the value of a secret comes from. */
export type SecretFrom =
  /** Read already. */
  | { value: string }
  /** Stored before, under this key. */
  | { key: string }
  /** The environment, or else whoever is asked. */
  | { ask: true };

const NAME = /^[A-Za-z_][\w.-]*$/;
const KEY = /^[-._A-Za-z0-9]{1,253}$/;

function split(text: string, option: string): [string, string | undefined] {
  const at = text.indexOf('=');
  const [name, rest] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  // What follows may be a secret that was meant for another option: it is not repeated.
  if (!NAME.test(name))
    throw new CliError(EXIT_CODES.usage, `${option}: what stands before = is no name of a variable or header`);
  return [name, rest];
}

/** `NAME=VALUE`, for values that anybody may see. @throws CliError */
export function readPlain(texts: readonly string[], option: string): Map<string, string> {
  return new Map(
    texts.map((text) => {
      const [name, value] = split(text, option);
      if (value === undefined) throw new CliError(EXIT_CODES.usage, `${option}: write ${option} NAME=VALUE`);
      return [name, value];
    }),
  );
}

/** `NAME`, `NAME=@file` or `NAME=key:KEY`: never the value itself, which every user of the machine could see. @throws CliError */
export function readSecrets(texts: readonly string[], option: string): Map<string, SecretFrom> {
  return new Map(
    texts.map((text) => {
      const [name, from] = split(text, option);
      return [name, from === undefined ? { ask: true } : secretFrom(name, from, option)];
    }),
  );
}

function secretFrom(name: string, from: string, option: string): SecretFrom {
  if (from.startsWith('@')) return { value: readValue(from.slice(1), name) };
  const [, key = ''] = /^key:(.*)$/.exec(from) ?? [];
  if (KEY.test(key)) return { key };
  throw new CliError(
    EXIT_CODES.usage,
    `${option} ${name}: a value in the command line is seen by every user of this machine; write ${option} ${name}=@file, ${name}=key:<key of a stored secret>, or ${name} alone to be asked`,
  );
}

/** A secret in a file, without the line break at its end. `-` is standard input. */
function readValue(path: string, name: string): string {
  try {
    const value = readFileSync(path === '-' ? 0 : path, 'utf8').replace(/\r?\n$/, '');
    if (value !== '') return value;
  } catch (problem) {
    throw new CliError(EXIT_CODES.usage, `the file with ${name} cannot be read (${codeOf(problem) ?? 'unknown'})`);
  }
  throw new CliError(EXIT_CODES.usage, `the file with ${name} is empty`);
}
