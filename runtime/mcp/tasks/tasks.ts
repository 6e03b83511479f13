import { Quota, QuotaExceeded } from '#lib/limits/quota';
import { RequestError } from '#runtime/errors';
import type { RunConfig } from '#crds/run-config/run-config';
import type { SecretRing } from '#runtime/keys/secret-ring';
import { sessionLimits } from '../sessions/session-limits.ts';
import { TaskIds, type BackendTask } from './task-ids.ts';

interface TasksDeps {
  readonly seal: () => SecretRing;
  readonly config: () => Pick<RunConfig, 'server' | 'limits' | 'incoming'>;
}

/** Milliseconds for which a task counts at most. It also is the largest delay that is safe for a timer. */
const LONGEST = 86_400_000;

/** Ids of all tasks, and the number of running ones for each principal. */
export class Tasks {
  readonly #ids: TaskIds;
  readonly #quota: Quota;
  /** By the client's id. */
  readonly #running = new Map<string, () => void>();

  /** The limits of sessions apply: a task is the state of a client too. */
  constructor({ seal, config }: TasksDeps) {
    this.#ids = new TaskIds(seal, () => JSON.stringify(config().server));
    this.#quota = new Quota(() => {
      const { perReplica, perPrincipal } = sessionLimits(config());
      return { total: perReplica, perKey: perPrincipal };
    });
  }

  /**
   * Returns the client's id of a new task. The task counts until `ended`, or for `ttl` milliseconds. @throws
   * RequestError if too many run
   */
  begin(task: BackendTask, ttl: number | undefined, of: { principal: string; countedFor: string }): string {
    const leave = this.#take(of.countedFor);
    const taskId = this.#ids.seal(task, of.principal);
    const timer = setTimeout(() => this.ended(taskId), Math.min(ttl ?? LONGEST, LONGEST)).unref();
    this.#running.set(taskId, () => {
      clearTimeout(timer);
      leave();
    });
    return taskId;
  }

  /** Returns undefined if the id was not made for this principal. */
  open(taskId: string, principal: string): BackendTask | undefined {
    return this.#ids.open(taskId, principal);
  }

  ended(taskId: string): void {
    this.#running.get(taskId)?.();
    this.#running.delete(taskId);
  }

  #take(key: string): () => void {
    try {
      return this.#quota.take(key);
    } catch (problem) {
      throw problem instanceof QuotaExceeded ? tooMany() : problem;
    }
  }
}

function tooMany(): RequestError {
  return new RequestError({
    status: 200,
    code: 'too_many_tasks',
    text: 'Too many tasks are running: wait until one ends, or cancel one. The new task was cancelled',
    rpc: { code: -32603 },
  });
}
