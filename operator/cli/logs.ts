import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backendChild, runtimeChildOf } from '#operator/plan/child-names';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';

/** At most so much of the end of a file is looked at for its last lines. */
const TAIL = 256 * 1024;
const LOOK = 300;
const EMPTY = Buffer.alloc(0);

/** What is no log for people: see its page. */
const AUDIT = 'management-audit';

/** Names of what has a log: `vmcp` itself and its children. */
function logNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => (name.endsWith('.log') ? [name.slice(0, -4)] : []))
    .sort();
}

/**
 * The logs that a name means: that of a workload's program and of its own endpoint, that of a VirtualMCPServer's runtime, or the one that
 * is called so. No name means all.
 */
function meant(name: string | undefined, names: readonly string[]): string[] {
  if (name === undefined) return names.filter((one) => one !== AUDIT);
  const kinds = ['VirtualMCPServer', 'MCPServer'] as const;
  const children = [backendChild(name), ...kinds.map((kind) => runtimeChildOf({ kind, name }))];
  return names.includes(name) ? [name] : names.filter((one) => children.includes(one));
}

function readRange(path: string, from: number, to: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(to - from);
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, from));
  } finally {
    closeSync(descriptor);
  }
}

/** The last lines of a file. */
function lastLines(path: string, count: number): string[] {
  if (!existsSync(path)) return [];
  const { size } = statSync(path);
  const lines = readRange(path, Math.max(0, size - TAIL), size)
    .toString()
    .split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.slice(-count);
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Prints the whole lines that are appended from now on, until `signal` says so. A log that is new is printed from its start. */
async function follow(
  paths: () => Map<string, string>,
  print: (name: string, lines: string[]) => void,
  signal: AbortSignal,
) {
  const seen = new Map([...paths()].map(([name, path]) => [name, sizeOf(path)]));
  while (!signal.aborted) {
    await sleep(LOOK, undefined, { signal }).catch(() => undefined);
    for (const [name, path] of paths()) {
      const size = sizeOf(path);
      const before = seen.get(name) ?? 0;
      // A smaller file is a new one: the former was put aside.
      const from = size < before ? 0 : before;
      const bytes = size === from ? EMPTY : readRange(path, from, size);
      // The rest of a line that is being written comes with the next look.
      const whole = bytes.lastIndexOf('\n') + 1;
      seen.set(name, from + whole);
      if (whole > 0)
        print(
          name,
          bytes
            .subarray(0, whole - 1)
            .toString()
            .split('\n'),
        );
    }
  }
}

export interface LogOptions {
  follow: boolean;
  lines: number;
}

/** Prints the last lines of the logs, all or one, each line with its name in front where there are several. */
export async function logs(
  name: string | undefined,
  { follow: goOn, lines }: LogOptions,
  { state, out }: Context,
  signal: AbortSignal,
): Promise<number> {
  const names = logNames(state.logs);
  if (name !== undefined && meant(name, names).length === 0) {
    const known = names.join(', ') || 'none yet';
    const code = names.length === 0 ? EXIT_CODES.notRunning : EXIT_CODES.notFound;
    throw new CliError(code, `there is no log of ${name} (there is: ${known})`);
  }
  const pathsNow = () => new Map(meant(name, logNames(state.logs)).map((one) => [one, join(state.logs, `${one}.log`)]));
  const paths = pathsNow();
  const isOne = name !== undefined && paths.size === 1;
  const width = Math.max(...[...paths.keys()].map((one) => one.length), 0);
  const print = (from: string, all: string[]): void => {
    for (const line of all) out.write(isOne ? `${line}\n` : `${from.padEnd(width)} | ${line}\n`);
  };
  for (const [one, path] of paths) print(one, lastLines(path, lines));
  if (goOn) await follow(pathsNow, print, signal);
  return EXIT_CODES.ok;
}
