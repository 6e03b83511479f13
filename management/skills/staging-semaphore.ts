import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AcquireAborted, QueueFull, Semaphore } from '#lib/limits/semaphore';
import { Problem } from '../problem.ts';

/** Namespaces whose skills are staged at once. The chart limits the pod's disk, of which each may fill its share. */
export const STAGED_AT_ONCE = 4;
/** Milliseconds that a skill waits for others. */
const PATIENCE = 10_000;
/** Maximum number of waiting skills: per namespace, and of all namespaces. */
const QUEUE_PER_NAMESPACE = 8;
const QUEUE = 32;

const HEADERS = { 'Retry-After': '5' };

/** Limits the skills whose files are staged on disk at once: one per namespace, a few in all. One instance per process. */
export class StagingSemaphore {
  readonly #folder: string;
  readonly #patience: number;
  readonly #semaphore = new Semaphore({
    ...{ total: STAGED_AT_ONCE, perKey: 1 },
    ...{ queue: QUEUE, queuePerKey: QUEUE_PER_NAMESPACE },
  });

  /**
   * @param folder for temporary files; other users may write to it
   * @param patience milliseconds that a skill waits for others
   */
  constructor(folder: string, patience = PATIENCE) {
    this.#folder = join(folder, `vmcp-skills-${process.getuid?.() ?? 'own'}`);
    this.#patience = patience;
  }

  /**
   * Runs `work` with the path of a private staging folder. The signal ends the wait.
   * @throws Problem `busy`: another skill of the namespace took too long; `too_many_requests`: too many skills of the namespace wait;
   * `unavailable`: too many skills wait, or they took too long; `internal`: the folder belongs to another user
   */
  async run<T>(namespace: string, signal: AbortSignal, work: (folder: string) => Promise<T>): Promise<T> {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(this.#patience)]);
    try {
      return await this.#semaphore.run({ key: namespace, signal: inTime }, async () => {
        await makeOwnFolder(this.#folder);
        return work(join(this.#folder, 'staging'));
      });
    } catch (problem) {
      if (problem instanceof QueueFull) throw refusalOf(problem);
      throw problem instanceof AcquireAborted ? lateness(problem, this.#semaphore.holds(namespace)) : problem;
    }
  }
}

function refusalOf(cause: QueueFull): Problem {
  const options = { cause, headers: HEADERS };
  if (cause.limit === 'queue')
    return new Problem('unavailable', `${QUEUE} skills wait to be looked at already: try again later`, options);
  const detail = `${QUEUE_PER_NAMESPACE} skills of this namespace wait already: try again later`;
  return new Problem('too_many_requests', detail, options);
}

/** @param isBusy whether another skill of the namespace is staged */
function lateness(cause: AcquireAborted, isBusy: boolean): Problem {
  if (isBusy) return new Problem('busy', 'another skill of this namespace is being looked at: try again', { cause });
  const detail = `the skills of ${STAGED_AT_ONCE} namespaces are being looked at: try again later`;
  return new Problem('unavailable', detail, { cause, headers: HEADERS });
}

/** A folder that another user can write to would let that user change files after their check. */
async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
  if (!isOurs) throw new Problem('internal', `${folder} is not a folder of this user alone: remove it`);
}
