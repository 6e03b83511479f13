import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BASE } from '#management/base';
import type { Output } from '../context.ts';
import { isNameKind, NAME_KINDS } from './name-kinds.ts';

/** Milliseconds. The limit is short because the user waits at the prompt. */
const PATIENCE = 300;
/** Names without special characters of a shell, because shells expand completion words. */
const PLAIN = /^[\w@%+:,./][\w@%+:,./-]*$/;
const MOST = 1000;

/** Prints nothing without an answer in time. Loads few modules, because it runs at each press of the tab key. */
export async function printNames(
  [kind = '', state = '.vmcp']: readonly string[],
  out: Output,
  patience = PATIENCE,
): Promise<void> {
  if (!isNameKind(kind)) return;
  const from = NAME_KINDS[kind];
  // Errors are ignored: a shell would print them into the line that the user types.
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

/** The status file lists processes too. */
async function readResources(state: string, file: string): Promise<unknown> {
  const status: unknown = JSON.parse(await readFile(join(state, file), 'utf8'));
  return typeof status === 'object' && status !== null && 'resources' in status ? status.resources : undefined;
}

function namesIn(answer: unknown): string[] {
  const lists = (Array.isArray(answer) ? [answer] : valuesOf(answer)).filter((value) => Array.isArray(value));
  const names = lists.flat().flatMap((record: unknown) => nameOf(record) ?? []);
  return [...new Set(names)].filter((name) => PLAIN.test(name)).slice(0, MOST);
}

const valuesOf = (value: unknown): unknown[] =>
  typeof value === 'object' && value !== null ? Object.values(value) : [];

/** Resources other than endpoints have no name here. */
function nameOf(record: unknown): string | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const own = new Map<string, unknown>(Object.entries(record));
  if (own.get('isEndpoint') === false) return undefined;
  const name = own.get('name') ?? own.get('key');
  return typeof name === 'string' ? name : nameOf(name ?? own.get('metadata'));
}
