import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { CommanderError } from 'commander';
import winston from 'winston';
import { z } from 'zod';
import { cpuTimeOfProcess, giveBackWhenIdle } from '#lib/memory/give-back-memory';
import type { Log } from '#lib/log/log';
import type { Print, SharedFlags } from './shared-flags.ts';

/** Exit code of a wrong command line. */
const USAGE = 2;
/** Milliseconds after a signal. Current work and the hand-over of a Lease take less. */
const END_AFTER = 20_000;
/** Milliseconds of idleness before garbage is collected. */
const IDLE_PERIOD = 20_000;

interface ProgramDeps {
  version: string;
  log: Log;
  stop: AbortSignal;
}

interface ClusterProgram<F> {
  /** URL of main.ts, or of the built program. package.json is in the parent folder. */
  entry: string;
  /** @throws CommanderError */
  readFlags: (args: string[], version: string, print: Print) => F;
  run: (flags: F, deps: ProgramDeps) => Promise<number>;
  failure: string;
}

/** Runs a program of a cluster in this process and ends the process. Exit codes: 1 for a failure, 2 for a wrong command line. */
export async function runProgram<F extends SharedFlags>(program: ClusterProgram<F>): Promise<never> {
  const manifest = fileURLToPath(new URL('../package.json', program.entry));
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(manifest, 'utf8')));
  const flags = flagsOrExit(program, version);
  const log = createLog({ level: flags.logLevel, format: flags.logFormat }, process.stderr);
  // The start leaves 11 MiB of garbage, but takes less CPU time than `giveBackWhenIdle` requires of other work.
  const { gc } = globalThis;
  if (gc) giveBackWhenIdle({ period: IDLE_PERIOD, cpuTime: cpuTimeOfProcess, since: -Infinity, gc });
  try {
    process.exit(await program.run(flags, { version, log, stop: stopOnSignal() }));
  } catch (problem) {
    log.error(program.failure, { problem });
    process.exit(1);
  }
}

function flagsOrExit<F>({ readFlags }: Pick<ClusterProgram<F>, 'readFlags'>, version: string): F {
  const out = (text: string) => process.stdout.write(text);
  const err = (text: string) => process.stderr.write(text);
  try {
    return readFlags(process.argv.slice(2), version, { out, err });
  } catch (problem) {
    if (!(problem instanceof CommanderError)) throw problem;
    process.exit(problem.exitCode === 0 ? 0 : USAGE);
  }
}

function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stop.abort();
      setTimeout(() => process.exit(1), END_AFTER).unref();
    });
  }
  return stop.signal;
}

interface LogSettings {
  level: 'error' | 'warn' | 'info' | 'debug';
  format: 'json' | 'text';
}

/** Writes lines to a stream: JSON objects `{time, level, message, …fields}`, or text. Logs the messages of an error and its causes. */
export function createLog({ level, format }: LogSettings, stream: Writable): Log {
  const logger = winston.createLogger({
    level,
    levels: winston.config.npm.levels,
    format: winston.format.printf(format === 'json' ? jsonLine : textLine),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston declares its transports as interfaces
    transports: [new winston.transports.Stream({ stream })],
  });
  const write = (at: LogSettings['level']) => (message: string, fields?: Record<string, unknown>) => {
    if (logger.isLevelEnabled(at)) logger.log({ level: at, message, fields });
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function jsonLine({ level, message, fields }: winston.Logform.TransformableInfo): string {
  return JSON.stringify({ time: new Date().toISOString(), level, message, ...(fields as object | undefined) }, plain);
}

function textLine({ level, message, fields }: winston.Logform.TransformableInfo): string {
  const shown = Object.entries((fields as object | undefined) ?? {}).map(
    ([name, value]) => `${name}=${JSON.stringify(value, plain)}`,
  );
  return [new Date().toISOString(), level.toUpperCase().padEnd(5), message, ...shown].join(' ');
}

/** Converts an error, which JSON does not represent. */
function plain(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { message, cause } = value;
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}
