import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readLocalStatus } from '#local/local-status-file';
import { lastLines, nextLines } from '#local/tail-log';
import { backendChild, runtimeChild, runtimeChildOf } from '#operator/plan/child-names';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { nothingRuns } from './nothing-runs.ts';
import { writeLog } from './shown-output.ts';
import { serversOf } from './summarise-status.ts';

const LOOK = 300;
const ALL = 1_000_000;

/** The audit log is not meant for reading; see its page. */
const AUDIT = 'management-audit';

function logNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => (name.endsWith('.log') ? [name.slice(0, -4)] : []))
    .sort();
}

/** A name is a workload, a VirtualMCPServer or a log; without one, all logs are meant. */
function meant(name: string | undefined, names: readonly string[]): string[] {
  if (name === undefined) return names.filter((one) => one !== AUDIT);
  const kinds = ['VirtualMCPServer', 'MCPServer'] as const;
  const children = [backendChild(name), ...kinds.map((kind) => runtimeChildOf({ kind, name }))];
  return names.includes(name) ? [name] : names.filter((one) => children.includes(one));
}

function workloadsIn(state: Context['state']): string[] {
  const localStatus = readLocalStatus(state);
  return localStatus ? serversOf(localStatus).flatMap(({ backends }) => backends.map(({ name }) => name)) : [];
}

/** The lines of a stdio program are in the logs of the servers that offer it. */
function meantInside(name: string, state: Context['state'], names: readonly string[]): string[] {
  const localStatus = readLocalStatus(state);
  const servers = localStatus
    ? serversOf(localStatus).filter(({ backends }) => backends.some((one) => one.name === name))
    : [];
  const children = servers.map((server) => runtimeChild(server.name));
  return names.filter((one) => children.includes(one));
}

/** @throws CliError */
function checkInside(name: string, names: readonly string[], state: Context['state']): void {
  if (meantInside(name, state, names).length > 0) return;
  const known = [...new Set([...workloadsIn(state), ...names])].join(', ');
  throw new CliError(EXIT_CODES.notFound, `there is no log of ${name} (there is: ${known})`);
}

/** Runtimes write the backend name into each line about a backend. */
const isAbout = (name: string) => {
  const field = `"backend":${JSON.stringify(name)}`;
  return (line: string): boolean => line.includes(field);
};

/** Prints complete lines only, until `signal` aborts; a new log from its start. */
async function follow(
  paths: () => Map<string, string>,
  seen: Map<string, number>,
  print: (name: string, lines: string[]) => void,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    await sleep(LOOK, undefined, { signal }).catch(() => undefined);
    for (const [name, path] of paths()) {
      const { lines, offset } = nextLines(path, seen.get(name) ?? 0);
      seen.set(name, offset);
      print(name, lines);
    }
  }
}

export interface LogOptions {
  follow: boolean;
  lines: number;
}

/** With several logs, each line begins with the log name. */
export async function logs(
  name: string | undefined,
  { follow: goOn, lines }: LogOptions,
  context: Context,
  signal: AbortSignal,
): Promise<number> {
  const { state, out } = context;
  const names = logNames(state.logs);
  if (names.length === 0 && (name !== undefined || !goOn)) throw nothingRuns(context);
  const isInside = name !== undefined && meant(name, names).length === 0;
  if (isInside) checkInside(name, names, state);
  const keeps = isInside ? isAbout(name) : () => true;
  const now = () => {
    const all = logNames(state.logs);
    return isInside ? meantInside(name, state, all) : meant(name, all);
  };
  const pathsNow = () => new Map(now().map((one) => [one, join(state.logs, `${one}.log`)]));
  const paths = pathsNow();
  const isOne = name !== undefined && paths.size === 1;
  const width = Math.max(...[...paths.keys()].map((one) => one.length), 0);
  const print = (from: string, all: string[]): void => {
    for (const line of all.filter(keeps)) writeLog(out, isOne ? line : `${from.padEnd(width)} | ${line}`);
  };
  const seen = new Map<string, number>();
  for (const [one, path] of paths) {
    const { lines: past, offset } = lastLines(path, isInside ? ALL : lines, goOn);
    seen.set(one, offset);
    print(one, past.filter(keeps).slice(lines === 0 ? past.length : -lines));
  }
  if (goOn) await follow(pathsNow, seen, print, signal);
  return EXIT_CODES.ok;
}
