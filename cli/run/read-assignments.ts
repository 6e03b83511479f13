import { LONGEST_VALUE } from '#management/secrets/secrets';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { readGiven, withoutLineBreak } from '../read-given.ts';

export type SecretFrom =
  | { value: string }
  | { key: string }
  /** The environment, or else a question to the user. */
  | { ask: true };

const NAME = /^[A-Za-z_][\w.-]*$/;
const KEY = /^[-._A-Za-z0-9]{1,253}$/;

function split(text: string, option: string): [string, string | undefined] {
  const at = text.indexOf('=');
  const [name, rest] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  // The rest may be a secret for another option, so the message omits it.
  if (!NAME.test(name))
    throw new CliError(EXIT_CODES.usage, `${option}: what stands before = is no name of a variable or header`);
  return [name, rest];
}

/** Accepts `NAME=VALUE`, or the `NAME` of an environment variable. @throws CliError */
export function readPlain(
  texts: readonly string[],
  option: string,
  environment: NodeJS.ProcessEnv = {},
): Map<string, string> {
  return new Map(
    texts.map((text) => {
      const [name, value = Object.hasOwn(environment, text) ? environment[text] : undefined] = split(text, option);
      if (value === undefined) throw new CliError(EXIT_CODES.usage, `${option}: write ${option} NAME=VALUE`);
      return [name, value];
    }),
  );
}

/** Accepts `NAME`, `NAME=@file`, `NAME=key:KEY`; no value, because every user of the machine could read it. @throws CliError */
export async function readSecrets(
  texts: readonly string[],
  option: string,
  context: Pick<Context, 'input'>,
): Promise<Map<string, SecretFrom>> {
  const found = new Map<string, SecretFrom>();
  for (const text of texts) {
    const [name, from] = split(text, option);
    found.set(name, from === undefined ? { ask: true } : await secretFrom(name, from, option, context));
  }
  return found;
}

async function secretFrom(
  name: string,
  from: string,
  option: string,
  context: Pick<Context, 'input'>,
): Promise<SecretFrom> {
  if (from.startsWith('@')) return { value: await readValue(from.slice(1), name, context) };
  const [, key = ''] = /^key:(.*)$/.exec(from) ?? [];
  if (KEY.test(key)) return { key };
  throw new CliError(
    EXIT_CODES.usage,
    `${option} ${name}: a value in the command line is seen by every user of this machine; write ${option} ${name}=@file, ${name}=key:<key of a stored secret>, or ${name} alone to be asked`,
  );
}

/** Omits the last line break. `-` means standard input. */
async function readValue(file: string, name: string, context: Pick<Context, 'input'>): Promise<string> {
  const value = withoutLineBreak(await readGiven(file, LONGEST_VALUE, context));
  if (value !== '') return value;
  throw new CliError(EXIT_CODES.input, `the file with ${name} is empty`);
}
