import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { inheritedVariables } from '#crds/parts/inherited-variables';
import { CONTAINER_ENGINES } from '#operator/world';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from './write-file.ts';

const runFile = promisify(execFile);
/** How long an engine may take for one answer. Milliseconds. */
const PATIENCE = 5000;

const Container = z.object({ engine: z.enum(CONTAINER_ENGINES), labels: z.array(z.string()).min(1) });
/** Containers of one engine that have all of these labels, each `name=value`. */
export type Containers = z.infer<typeof Container>;

/** Removes them at once, whatever they do. An engine that does not answer has none that could be removed. Returns how many. */
export async function removeContainers(
  { engine, labels }: Containers,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const env = inheritedVariables(environment);
  const ask = async (...args: string[]): Promise<string[]> => {
    try {
      const { stdout } = await runFile(engine, args, { env, timeout: PATIENCE, killSignal: 'SIGKILL' });
      return stdout.split(/\s+/).filter(Boolean);
    } catch {
      // Some of them have ended by themselves in between; or there is no engine.
      return [];
    }
  };
  const found = await ask('ps', '--all', '--quiet', ...labels.flatMap((label) => ['--filter', `label=${label}`]));
  if (found.length === 0) return 0;
  // A forced removal alone gives some engines' containers ten seconds to end.
  await ask('kill', ...found);
  await ask('rm', '--force', ...found);
  return found.length;
}

const Noted = z.array(Container);

function noted(state: StateFolder): Containers[] {
  try {
    return Noted.parse(JSON.parse(readIfThere(state.containers) ?? '[]'));
  } catch {
    return [];
  }
}

/** Notes that there may be such containers from now on. */
export function noteContainers(state: StateFolder, containers: Containers): void {
  const before = noted(state);
  const text = JSON.stringify(containers);
  if (before.some((one) => JSON.stringify(one) === text)) return;
  writeFileAtomic(state.containers, `${JSON.stringify([...before, containers], null, 2)}\n`);
}

/** Removes all containers that were noted, also those of a predecessor that was killed. Returns how many there were. */
export async function removeNoted(state: StateFolder, environment: NodeJS.ProcessEnv): Promise<number> {
  const counts = await Promise.all(noted(state).map((one) => removeContainers(one, environment)));
  rmSync(state.containers, { force: true });
  return counts.reduce((sum, count) => sum + count, 0);
}
