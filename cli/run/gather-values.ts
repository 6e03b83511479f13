import type { z } from 'zod';
import type { EnvVar } from '#management/records/registry-entry';
import { askPerson, isAnswered } from '../ask-person.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { shownLine } from '../shown-output.ts';
import type { SecretFrom } from './read-assignments.ts';

export type Wanted = z.infer<typeof EnvVar>;

export interface Given {
  plain: ReadonlyMap<string, string>;
  secrets: ReadonlyMap<string, SecretFrom>;
}

export interface Values {
  plain: Map<string, string>;
  secrets: Map<string, { value: string } | { key: string }>;
}

const VARIABLES = { plain: '--env', secret: '--secret' };
export const HEADERS = { plain: '--header', secret: '--header-secret' };

interface ValueDeps extends Pick<Context, 'input' | 'err' | 'environment'> {
  options?: typeof VARIABLES;
}

/**
 * Asks for missing required ones. Reads the environment only for names that the user passes: an entry could otherwise
 * obtain any variable. Nothing changes before all values are known.
 * @throws CliError that names all missing values
 */
export async function gatherValues(wanted: readonly Wanted[], given: Given, deps: ValueDeps): Promise<Values> {
  const { options = VARIABLES } = deps;
  checkKinds(wanted, given, options);
  const declared = new Set(wanted.map(({ name }) => name));
  const added = [...given.secrets.keys()].filter((name) => !declared.has(name));
  const all = [...wanted, ...added.map((name): Wanted => ({ name, secret: true, required: true }))];
  const missing = all.filter((one) => isMissing(one, given, deps));
  if (missing.length > 0 && !isAnswered(deps)) throw notGiven(missing, options);
  const values: Values = { plain: new Map(given.plain), secrets: new Map() };
  for (const one of all) await gather(one, given, deps, values);
  return values;
}

/** A plain secret would appear in the manifest and the process list. @throws CliError */
function checkKinds(wanted: readonly Wanted[], { plain }: Given, options: typeof VARIABLES): void {
  for (const { name, secret } of wanted)
    if (secret === true && plain.has(name))
      throw new CliError(
        EXIT_CODES.usage,
        `${name} is a secret: write ${options.secret} ${name}=@file, or ${options.secret} ${name} to be asked`,
      );
}

function isMissing(
  { name, required, default: usual }: Wanted,
  { plain, secrets }: Given,
  { environment }: ValueDeps,
): boolean {
  const from = secrets.get(name);
  if (plain.has(name) || (from !== undefined && !('ask' in from))) return false;
  const known = (from && environment[name]) ?? usual ?? '';
  return (required === true || from !== undefined) && known === '';
}

function notGiven(missing: readonly Wanted[], options: typeof VARIABLES): CliError {
  const lines = missing.map(({ name, secret, description }) => {
    const how = secret === true ? `${options.secret} ${name}=@file` : `${options.plain} ${name}=VALUE`;
    return `  ${name}: ${how}${description === undefined ? '' : `  (${shownLine(description)})`}`;
  });
  return new CliError(
    EXIT_CODES.usage,
    `it needs values that were not given; write them${options === VARIABLES ? ', or without = to take them from the environment' : ''}:\n${lines.join('\n')}`,
  );
}

async function gather(one: Wanted, { plain, secrets }: Given, deps: ValueDeps, values: Values): Promise<void> {
  const { name, secret, required } = one;
  const from = secrets.get(name);
  if (plain.has(name)) return;
  if (from !== undefined && !('ask' in from)) {
    values.secrets.set(name, from);
    return;
  }
  if (required !== true && from === undefined) return;
  const value = await find(one, deps, from !== undefined);
  if (secret === true || from !== undefined) values.secrets.set(name, { value });
  else values.plain.set(name, value);
}

/** A value from the environment is reported, so that the user knows which account it is. */
async function find(
  { name, secret, description, default: usual }: Wanted,
  deps: ValueDeps,
  isNamed: boolean,
): Promise<string> {
  const { [name]: known = '' } = deps.environment;
  if (known !== '' && isNamed) {
    deps.err.write(`${name}: taken from the environment\n`);
    return known;
  }
  if (usual !== undefined && usual !== '') return usual;
  if (known !== '' && (await isWanted(name, deps))) return known;
  const about = description === undefined ? '' : ` (${shownLine(description)})`;
  const answer = (await askPerson(`${name}${about}: `, deps, secret === true)).trim();
  if (answer !== '') return answer;
  throw new CliError(EXIT_CODES.usage, `${name} is needed: nothing was changed`);
}

async function isWanted(name: string, deps: ValueDeps): Promise<boolean> {
  const answer = await askPerson(`${name} is in your environment: give the server that value? [y/N] `, deps);
  return /^y(es)?$/i.test(answer.trim());
}
