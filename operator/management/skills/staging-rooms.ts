import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../problem.ts';
import { Shares } from '../shares.ts';

/** Namespaces whose skills are looked at together: each may fill its share of the pod's disk, which the chart bounds. */
const ROOMS = 4;
/** Milliseconds that one may wait for the others. */
const PATIENCE = 10_000;
/** How many may wait: of one namespace, and of all. */
const QUEUE_OF_ONE = 8;
const QUEUE = 32;

const HEADERS = { 'Retry-After': '5' };

interface Waiting {
  namespace: string;
  enter: () => void;
}

/** Room for the files of skills that are looked at: one at a time for a namespace, a few for all. One instance for a process. */
export class StagingRooms {
  readonly #folder: string;
  readonly #patience: number;
  readonly #busy = new Set<string>();
  readonly #waiting: Waiting[] = [];
  readonly #queue = new Shares({
    each: QUEUE_OF_ONE,
    most: QUEUE,
    tell: (count) => `${count} skills wait to be looked at`,
  });

  /**
   * @param folder for files that go again, in which others may write
   * @param patience milliseconds that one may wait for the others
   */
  constructor(folder: string, patience = PATIENCE) {
    this.#folder = join(folder, `vmcp-skills-${process.getuid?.() ?? 'own'}`);
    this.#patience = patience;
  }

  /**
   * Gives a folder of ours. Ends its wait when nobody waits for it any more.
   * @throws Problem `busy`: another one of the namespace took too long; `too_many_requests`: too many of it wait; `unavailable`: too many of
   * all, or they took too long; `internal`: somebody else was faster to make a folder of that name
   */
  async run<T>(namespace: string, signal: AbortSignal, work: (folder: string) => Promise<T>): Promise<T> {
    const leave = this.#queue.take(namespace);
    await this.#enter(namespace, signal).finally(leave);
    try {
      await makeOwnFolder(this.#folder);
      return await work(join(this.#folder, 'staging'));
    } finally {
      this.#busy.delete(namespace);
      this.#next();
    }
  }

  async #enter(namespace: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiting = { namespace, enter: () => resolve(undefined) };
    this.#waiting.push(waiting);
    const giveUp = (): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at === -1) return;
      this.#waiting.splice(at, 1);
      reject(this.#tookTooLong(namespace));
    };
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    const timer = setTimeout(giveUp, this.#patience);
    this.#next();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Lets in who has waited longest, of those whose namespace has no room yet. */
  #next(): void {
    while (this.#busy.size < ROOMS) {
      const at = this.#waiting.findIndex(({ namespace }) => !this.#busy.has(namespace));
      const [first] = at === -1 ? [] : this.#waiting.splice(at, 1);
      if (first === undefined) return;
      this.#busy.add(first.namespace);
      first.enter();
    }
  }

  #tookTooLong(namespace: string): Problem {
    if (this.#busy.has(namespace))
      return new Problem('busy', 'another skill of this namespace is being looked at: try again');
    const told = `the skills of ${this.#busy.size} namespaces are being looked at: try again later`;
    return new Problem('unavailable', told, { headers: HEADERS });
  }
}

/** Who else could write there could change what was checked. */
async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
  if (!isOurs) throw new Problem('internal', `${folder} is not a folder of this user alone: remove it`);
}
