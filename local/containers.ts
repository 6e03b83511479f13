import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { inheritedVariables } from '#crds/parts/inherited-variables';
import { CONTAINER_ENGINES } from '#operator/snapshot';
import { codeOf, readIfThere, writeFileAtomic } from '#lib/files/write-file';
import type { StateFolder } from './state-folder.ts';

const runFile = promisify(execFile);
/** Milliseconds for the whole removal: on a busy machine each answer takes seconds. */
const PATIENCE = 20_000;
/** `kill` fails when one of several containers does not run yet; the forced removal that follows may take longer than PATIENCE. */
const ATTEMPTS = 3;

const Container = z.object({ engine: z.enum(CONTAINER_ENGINES), labels: z.array(z.string()).min(1) });
/** Selects containers with all of these labels, each `name=value`. */
export type Containers = z.infer<typeof Container>;

interface Removal {
  found: number;
  /** Some containers remain, or the engine did not answer. */
  left: boolean;
}

/** Removes containers in any state. Without an installed engine there are none. */
export async function removeContainers(
  { engine, labels }: Containers,
  environment: NodeJS.ProcessEnv,
): Promise<Removal> {
  const env = inheritedVariables(environment);
  const signal = AbortSignal.timeout(PATIENCE);
  const ask = (...args: string[]) => runFile(engine, args, { env, signal, killSignal: 'SIGKILL' });
  const filters = labels.flatMap((label) => ['--filter', `label=${label}`]);
  const all = new Set<string>();
  for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt += 1) {
    try {
      const { stdout } = await ask('ps', '--all', '--quiet', ...filters);
      const standing = stdout.split(/\s+/).filter(Boolean);
      if (standing.length === 0) return { found: all.size, left: false };
      for (const one of standing) all.add(one);
      // With a forced removal alone, some engines give containers ten seconds to end.
      await ask('kill', ...standing).catch(() => undefined);
      // Also removes anonymous volumes, as `run --rm` does.
      await ask('rm', '--force', '--volumes', ...standing);
    } catch (problem) {
      if (codeOf(problem) === 'ENOENT') return { found: 0, left: false };
      // Some containers have already ended, or the engine is overloaded.
    }
  }
  return { found: all.size, left: true };
}

const Noted = z.array(Container);

function noted(state: StateFolder): Containers[] {
  try {
    return Noted.parse(JSON.parse(readIfThere(state.containers) ?? '[]'));
  } catch {
    return [];
  }
}

export function noteContainers(state: StateFolder, containers: Containers): void {
  const before = noted(state);
  const text = JSON.stringify(containers);
  if (before.some((one) => JSON.stringify(one) === text)) return;
  writeFileAtomic(state.containers, `${JSON.stringify([...before, containers], null, 2)}\n`);
}

export async function removeNoted(state: StateFolder, environment: NodeJS.ProcessEnv): Promise<number> {
  const removals = await Promise.all(
    noted(state).map(async (one) => ({ one, ...(await removeContainers(one, environment)) })),
  );
  const left = removals.filter((removal) => removal.left).map(({ one }) => one);
  // The next call retries the containers that remain.
  if (left.length > 0) writeFileAtomic(state.containers, `${JSON.stringify(left, null, 2)}\n`);
  else rmSync(state.containers, { force: true });
  return removals.reduce((sum, { found }) => sum + found, 0);
}
