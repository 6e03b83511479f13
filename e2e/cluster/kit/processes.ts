import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessIdentity, isRunning, startOf } from '#local/process-identity';
import type { Places } from './places.ts';

const END_MS = 10_000;
const LOOK_MS = 50;

const noteOf = (places: Places, name: string) => join(places.processes, name);

/** The process of this name, if it still runs. Its start time is compared, so that a later one with its id is never hit. */
export function processOf(places: Places, name: string): ProcessIdentity | undefined {
  try {
    const identity = ProcessIdentity.parse(JSON.parse(readFileSync(noteOf(places, name), 'utf8')));
    return isRunning(identity) ? identity : undefined;
  } catch {
    return undefined;
  }
}

/** Starts a program in the background that outlives this one, unless it runs already. Its output goes to `<name>.log`. */
export function launch(places: Places, name: string, [program = '', ...args]: readonly string[]): void {
  if (processOf(places, name)) return;
  const log = openSync(join(places.logs, `${name}.log`), 'a');
  const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  // Whoever waits for it hears of it.
  child.on('error', () => undefined);
  if (child.pid === undefined) throw new Error(`${program} could not be started`);
  writeFileSync(noteOf(places, name), JSON.stringify({ pid: child.pid, started: startOf(child.pid) ?? '' }));
}

function signal(places: Places, name: string, kind: NodeJS.Signals): void {
  const identity = processOf(places, name);
  if (identity) process.kill(identity.pid, kind);
}

/** Signals all, and returns when they are gone; what does not go is killed. */
export async function halt(places: Places, names: readonly string[], kind: NodeJS.Signals): Promise<void> {
  for (const name of names) signal(places, name, kind);
  const deadline = Date.now() + END_MS;
  while (Date.now() < deadline && names.some((name) => processOf(places, name))) await sleep(LOOK_MS);
  for (const name of names) {
    signal(places, name, 'SIGKILL');
    rmSync(noteOf(places, name), { force: true });
  }
}

/** Asks every 100 ms until it holds; an error counts as no. Throws after `seconds`. */
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
