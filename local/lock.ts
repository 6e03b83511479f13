import { closeSync, linkSync, openSync, rmSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { codeOf, readIfThere } from '#lib/files/write-file';
import { isRunning, ProcessIdentity, startOf } from './process-identity.ts';
import type { StateFolder } from './state-folder.ts';

const Lock = z.object({
  ...ProcessIdentity.shape,
  folder: z.string(),
  build: z.string().default(''),
});
type Lock = z.infer<typeof Lock>;

export class AlreadyRunning extends Error {
  override readonly name = 'AlreadyRunning';
  readonly lock: Lock;
  constructor(lock: Lock) {
    super(`vmcp already runs here (process ${lock.pid}, folder ${lock.folder})`);
    this.lock = lock;
  }
}

/** Returns undefined when the lock is free or its holder has ended. */
export function readLock(state: StateFolder): Lock | undefined {
  const text = readIfThere(state.lock);
  if (text === undefined) return undefined;
  try {
    const lock = Lock.parse(JSON.parse(text));
    return isRunning(lock) ? lock : undefined;
  } catch {
    return undefined;
  }
}

function writeNew(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** A hard link creates the complete lock file, so that no process reads a half-written lock as stale. @throws AlreadyRunning */
export function takeLock(state: StateFolder, folder: string, build: string): () => void {
  const mine = { pid: process.pid, started: startOf(process.pid) ?? '', folder, build };
  const draft = `${state.lock}.${process.pid}`;
  rmSync(draft, { force: true });
  writeNew(draft, JSON.stringify(mine));
  try {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        linkSync(draft, state.lock);
        return () => rmSync(state.lock, { force: true });
      } catch (problem) {
        if (codeOf(problem) !== 'EEXIST') throw problem;
      }
      const holder = readLock(state);
      if (holder) throw new AlreadyRunning(holder);
      rmSync(state.lock, { force: true });
    }
    throw new Error(`the lock ${state.lock} cannot be taken: another vmcp starts at the same time; try again`);
  } finally {
    rmSync(draft, { force: true });
  }
}
