import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BASE } from '#management/base';
import type { Output } from '../context.ts';
import { isNameKind, NAME_KINDS } from './name-kinds.ts';

/** Milliseconds: somebody waits at the keyboard. */
const PATIENCE = 300;
/** Shells expand what they are given as words: nothing that a shell reads as more than a name. */
const PLAIN = /^[\w@%+:,./][\w@%+:,./-]*$/;
const MOST = 1000;

/**
 * Prints the names of one kind, one a line, as what runs on a state folder knows them: `[kind, state folder]`. Prints nothing where
 * nothing answers within `patience` milliseconds. (Loads next to nothing: it runs at each press of the tab key.)
 */
export async function printNames(
  [kind = '', state = '.vmcp']: readonly string[],
  out: Output,
  patience = PATIENCE,
): Promise<void> {
  if (!isNameKind(kind)) return;
  const from = NAME_KINDS[kind];
  // A shell would show whatever goes wrong in the middle of the line that is being typed.
  const asked = from.startsWith('/') ? ask(from, state, patience) : readResources(state, from);
  const answer = await asked.catch(() => undefined);
  for (const name of namesIn(answer)) out.write(`${name}\n`);
}

async function ask(path: string, state: string, patience: number): Promise<unknown> {
  const read = (file: string): Promise<string> => readFile(join(state, file), 'utf8');
  const answer = await fetch(`${await read('management-address')}${BASE}${path}`, {
    headers: { authorization: `Bearer ${await read('management-token')}` },
    signal: AbortSignal.timeout(patience),
    redirect: 'error',
  });
  return answer.ok ? answer.json() : undefined;
}

/** The resources that a status file tells of; there are processes in it, too. */
async function readResources(state: string, file: string): Promise<unknown> {
  const status: unknown = JSON.parse(await readFile(join(state, file), 'utf8'));
  return typeof status === 'object' && status !== null && 'resources' in status ? status.resources : undefined;
}

/** Names of the records of all lists in an answer. */
function namesIn(answer: unknown): string[] {
  const lists = (Array.isArray(answer) ? [answer] : valuesOf(answer)).filter((value) => Array.isArray(value));
  const names = lists.flat().flatMap((record: unknown) => nameOf(record) ?? []);
  return [...new Set(names)].filter((name) => PLAIN.test(name)).slice(0, MOST);
}

const valuesOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : [];

/** `name` or `key` of a record, or of what describes it; of resources only those that are endpoints. */
function nameOf(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const own = new Map<string, unknown>(Object.entries(record));
  if (own.get('isEndpoint') === false) return undefined;
  const name = own.get('name') ?? own.get('key');
  return typeof name === 'string' ? name : nameOf(name ?? own.get('metadata'));
}
