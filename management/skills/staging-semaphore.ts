import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AcquireAborted, QueueFull, Semaphore } from '#lib/limits/semaphore';
import { Problem } from '../problem.ts';

/** Namespaces. The chart limits the pod's disk, of which each may fill its share. */
export const STAGED_AT_ONCE = 4;
/** Milliseconds that a skill waits for others. */
const PATIENCE = 10_000;
/** Per namespace, and of all namespaces. */
const QUEUE_PER_NAMESPACE = 8;
const QUEUE = 32;

const HEADERS = { 'Retry-After': '5' };

/** Permits one skill per namespace, a few in all. One instance per process. */
export class StagingSemaphore {
  readonly #folder: string;
  readonly #patience: number;
  readonly #semaphore = new Semaphore({
    ...{ total: STAGED_AT_ONCE, perKey: 1 },
    ...{ queue: QUEUE, queuePerKey: QUEUE_PER_NAMESPACE },
  });

  /** @param patience milliseconds; other users may write to `folder` */
  constructor(folder: string, patience = PATIENCE) {
    this.#folder = join(folder, `vmcp-skills-${process.getuid?.() ?? 'own'}`);
    this.#patience = patience;
  }

  /**
   * Passes `work` a private folder.
   * @throws Problem `busy`: another skill took too long; `too_many_requests` (namespace), `unavailable` (all): queue
   * full or too slow; `internal`: another user's folder
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

/** Rejects a folder that another user can write to: that user could change files after their check. */
async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
  if (!isOurs) throw new Problem('internal', `${folder} is not a folder of this user alone: remove it`);
}
