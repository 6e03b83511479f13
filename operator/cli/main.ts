#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { findContainerEngine } from '#operator/local/find-container-engine';
import { RUNTIME_NODE_OPTIONS } from '#operator/local/runtime-node-options';
import { nameProgram } from './name-program.ts';
import { runCommand } from './program.ts';

const entry = fileURLToPath(import.meta.url);
// From sources the runtime lies elsewhere than in the built package, where both programs stand side by side.
const [runtime, manifest] = entry.endsWith('.ts')
  ? ['../../runtime/main.ts', '../../package.json']
  : ['./runtime.js', '../package.json'];
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(at(manifest), 'utf8')));
const node = [process.execPath, ...process.execArgv];

/** Long enough for all children to be ended. */
const END_AFTER = 5000;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    stop.abort();
    setTimeout(() => process.exit(130), END_AFTER).unref();
  });
}
// Who reads the output may stop reading: `vmcp logs | head`.
process.stdout.on('error', () => process.exit(0));

process.exitCode = await runCommand(
  process.argv.slice(2),
  {
    input: process.stdin,
    out: process.stdout,
    err: process.stderr,
    environment: process.env,
    program: nameProgram(process.env, process.cwd(), entry),
    self: [...node, entry],
    runtime: [...node, ...RUNTIME_NODE_OPTIONS, at(runtime)],
    version,
    containerEngine: findContainerEngine(process.env.PATH ?? ''),
  },
  stop.signal,
);
