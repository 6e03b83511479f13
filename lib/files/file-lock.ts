import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds after which a call stops waiting for the lock. */
const DEADLINE = 10_000;
/** Milliseconds between two attempts. */
const PAUSE = 10;
/** Maximum number of waiting calls per process. */
const LONGEST_QUEUE = 1000;

/** The lock was not available in time. */
export class LockBusy extends Error {
  override readonly name = 'LockBusy';
  constructor(path: string) {
    super(`${path} is locked: another vmcp is writing there; try again`);
  }
}

/**
 * Mutex for all processes of the machine, one instance for each file and process. SQLite takes the system's file lock, because
 * Node cannot. The system releases it when the process is killed, which a file with a process id does not achieve safely.
 */
export class FileLock {
  readonly #path: string;
  readonly #deadline: number;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(path: string, { deadline = DEADLINE }: { deadline?: number } = {}) {
    this.#path = path;
    this.#deadline = deadline;
  }

  /** Runs `work` while it holds the lock. `work` must have its own deadline. @throws LockBusy */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#waiting >= LONGEST_QUEUE) throw new LockBusy(this.#path);
    this.#waiting += 1;
    const result = this.#last.then(() => this.#holding(work));
    this.#last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #holding<T>(work: () => T | Promise<T>): Promise<T> {
    const database = await this.#take();
    try {
      return await work();
    } finally {
      database.close();
    }
  }

  async #take(): Promise<DatabaseSync> {
    makeFile(this.#path);
    const database = new DatabaseSync(this.#path, { timeout: 0 });
    const end = performance.now() + this.#deadline;
    try {
      while (!tryToBegin(database)) {
        if (performance.now() > end) throw new LockBusy(this.#path);
        await sleep(PAUSE);
      }
      return database;
    } catch (problem) {
      database.close();
      throw problem;
    }
  }
}

/** Does not open an existing file: closing it would release the locks of this process on it. */
function makeFile(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

const SQLITE_BUSY = 5;

function tryToBegin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (problem) {
    if (errorCodeOf(problem) === SQLITE_BUSY) return false;
    throw problem;
  }
}

function errorCodeOf(problem: unknown): unknown {
  return typeof problem === 'object' && problem !== null && 'errcode' in problem ? problem.errcode : undefined;
}
