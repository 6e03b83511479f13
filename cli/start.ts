import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { findContainerEngine } from '#local/find-container-engine';
import { RUNTIME_NODE_OPTIONS } from '#local/runtime-node-options';
import { nameProgram } from './name-program.ts';
import { runCommand } from './program.ts';

/** Milliseconds, long enough to end all children. */
const END_AFTER = 5000;

/** `entry` is the URL of the program. */
export async function start(args: string[], environment: NodeJS.ProcessEnv, entry: string): Promise<number> {
  // In the sources the runtime is in another folder; in the package both programs are in the same one.
  const [runtime, manifest] = entry.endsWith('.ts')
    ? ['../runtime/main.ts', '../package.json']
    : ['./runtime.js', '../package.json'];
  const at = (path: string): string => fileURLToPath(new URL(path, entry));
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(at(manifest), 'utf8')));
  const node = [process.execPath, ...process.execArgv];
  const program = fileURLToPath(entry);
  return runCommand(
    args,
    {
      input: process.stdin,
      out: process.stdout,
      err: process.stderr,
      environment,
      program: nameProgram(environment, process.cwd(), program),
      self: [...node, program],
      runtime: [...node, ...RUNTIME_NODE_OPTIONS, at(runtime)],
      version,
      containerEngine: findContainerEngine(environment.PATH ?? ''),
    },
    stopOnSignal(),
  );
}

function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Further signals, e.g. a second Ctrl-C, would end this process before its children.
    process.on(signal, () => {
      if (stop.signal.aborted) return;
      stop.abort();
      setTimeout(() => process.exit(130), END_AFTER).unref();
    });
  }
  return stop.signal;
}
