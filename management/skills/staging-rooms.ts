import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NoTurn, Turns } from '#operator/turns';
import { Problem } from '../problem.ts';

/** Namespaces whose skills are looked at together: each may fill its share of the pod's disk, which the chart bounds. */
export const ROOMS = 4;
/** Milliseconds that one may wait for the others. */
const PATIENCE = 10_000;
/** How many may wait: of one namespace, and of all. */
const QUEUE_OF_ONE = 8;
const QUEUE = 32;

const HEADERS = { 'Retry-After': '5' };

/** Room for the files of skills that are looked at: one at a time for a namespace, a few for all. One instance for a process. */
export class StagingRooms {
  readonly #folder: string;
  readonly #patience: number;
  readonly #rooms = new Turns({ most: ROOMS, each: 1, queue: QUEUE, queueOfOne: QUEUE_OF_ONE });

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
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(this.#patience)]);
    try {
      return await this.#rooms.run(inTime, namespace, async () => {
        await makeOwnFolder(this.#folder);
        return work(join(this.#folder, 'staging'));
      });
    } catch (problem) {
      throw problem instanceof NoTurn ? refusalOf(problem, this.#rooms.has(namespace)) : problem;
    }
  }
}

/** @param isBusy whether another skill of the namespace is being looked at */
function refusalOf(cause: NoTurn, isBusy: boolean): Problem {
  const options = { cause, headers: HEADERS };
  if (cause.why === 'too many of one wait')
    return new Problem(
      'too_many_requests',
      `${QUEUE_OF_ONE} skills of this namespace wait already: try again later`,
      options,
    );
  if (cause.why === 'too many wait')
    return new Problem('unavailable', `${QUEUE} skills wait to be looked at already: try again later`, options);
  if (isBusy) return new Problem('busy', 'another skill of this namespace is being looked at: try again', { cause });
  return new Problem('unavailable', `the skills of ${ROOMS} namespaces are being looked at: try again later`, options);
}

/** Who else could write there could change what was checked. */
async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
  if (!isOurs) throw new Problem('internal', `${folder} is not a folder of this user alone: remove it`);
}
