import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessIdentity, isRunning, startOf } from '#local/process-identity';
import type { ClusterFolders } from './cluster-folders.ts';

const END_MS = 10_000;
const LOOK_MS = 50;

const noteOf = (places: ClusterFolders, name: string) => join(places.processes, name);

/**
 * Returns the process of this name, if it still runs. The start time tells it from a later process with the same id.
 */
export function processOf(places: ClusterFolders, name: string): ProcessIdentity | undefined {
  try {
    const identity = ProcessIdentity.parse(JSON.parse(readFileSync(noteOf(places, name), 'utf8')));
    return isRunning(identity) ? identity : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Starts a program in the background that outlives this one, unless it already runs. Its output goes to `<name>.log`.
 */
export function launch(places: ClusterFolders, name: string, [program = '', ...args]: readonly string[]): void {
  if (processOf(places, name)) return;
  const log = openSync(join(places.logs, `${name}.log`), 'a');
  const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  // The caller that waits for the program detects the failure.
  child.on('error', () => undefined);
  if (child.pid === undefined) throw new Error(`${program} could not be started`);
  writeFileSync(noteOf(places, name), JSON.stringify({ pid: child.pid, started: startOf(child.pid) ?? '' }));
}

function signal(places: ClusterFolders, name: string, kind: NodeJS.Signals): void {
  const identity = processOf(places, name);
  if (identity) process.kill(identity.pid, kind);
}

/** Signals all processes, and returns when they are gone. It kills those that remain. */
export async function halt(places: ClusterFolders, names: readonly string[], kind: NodeJS.Signals): Promise<void> {
  for (const name of names) signal(places, name, kind);
  const deadline = Date.now() + END_MS;
  while (Date.now() < deadline && names.some((name) => processOf(places, name))) await sleep(LOOK_MS);
  for (const name of names) {
    signal(places, name, 'SIGKILL');
    rmSync(noteOf(places, name), { force: true });
  }
}

/** Repeats the check every 100 ms until it is true; an error counts as false. Throws after `seconds`. */
export async function until(what: string, seconds: number, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  let problem: unknown;
  while (Date.now() < deadline) {
    try {
      if (await holds()) return;
    } catch (error) {
      problem = error;
    }
    await sleep(100);
  }
  throw new Error(`waited in vain for ${what}`, { cause: problem });
}
