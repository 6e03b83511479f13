#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CommanderError } from 'commander';
import { z } from 'zod';
import { cpuTimeOfProcess, giveBackWhenIdle } from '#crds/parts/give-back-memory';
import { createLog } from '#operator/kubernetes/program/create-log';
import { type Flags, readFlags } from './program/flags.ts';
import { runManagement } from './program/run-management.ts';

const manifest = fileURLToPath(new URL('../package.json', import.meta.url));
const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(manifest, 'utf8')));

/** Exit codes: 0 stopped, 1 failed, 2 the command line is wrong. */
const USAGE = 2;
/** Answers under way take less. Milliseconds. */
const END_AFTER = 20_000;
/** Milliseconds of idleness before garbage is collected. */
const IDLE_PERIOD = 20_000;

function flagsOrExit(): Flags {
  try {
    const out = (text: string) => process.stdout.write(text);
    return readFlags(process.argv.slice(2), version, { out, err: (text) => process.stderr.write(text) });
  } catch (problem) {
    if (!(problem instanceof CommanderError)) throw problem;
    process.exit(problem.exitCode === 0 ? 0 : USAGE);
  }
}

const flags = flagsOrExit();
const log = createLog({ level: flags.logLevel, format: flags.logFormat }, process.stderr);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stop.abort();
    setTimeout(() => process.exit(1), END_AFTER).unref();
  });
}
const { gc } = globalThis;
if (gc) giveBackWhenIdle({ period: IDLE_PERIOD, cpuTime: cpuTimeOfProcess, since: -Infinity, gc });
const audit = process.stdout;
const environment = process.env;
const podNamespace = process.env.POD_NAMESPACE;
try {
  await runManagement(flags, { version, log, audit, environment, podNamespace, stop: stop.signal });
  process.exit(0);
} catch (problem) {
  log.error('the management API cannot run', { problem });
  process.exit(1);
}
