import { affected } from '#operator/affected';
import { type Attempted, reconcileOne, resultOf, type WorkResult } from '#operator/reconcile-one';
import { Retriable, Stalled, Waiting } from '#operator/errors';
import type { Platform } from '#operator/platform';
import { type Clock, WorkQueue } from '#operator/queue';
import { keyText, parseKey, type ResourceKey } from '#operator/snapshot';

/** Receives each failed key. `retryIn` is milliseconds; absent if only a change can help. */
type OnProblem = (key: ResourceKey, problem: unknown, retryIn?: number) => void;

interface LoopOptions {
  /** Resources with concurrent work. */
  workers?: number | undefined;
  /** Milliseconds after which an unchanged resource is checked again, varied by a fifth. Default: never. */
  resync?: number | undefined;
  random?: () => number;
  /** Returns whether this process may act. Otherwise, new work waits. */
  mayAct?: () => boolean;
  /** Receives each attempt: its result, and the milliseconds that the key waited and the work took. */
  onWork?: (key: ResourceKey, result: WorkResult, waited: number, worked: number) => void;
}

interface Reconciling {
  /** Resolves when all queued keys are done; delayed keys do not count. */
  idle(): Promise<void>;
  /** Returns the number of waiting resources. */
  depth(): number;
  /** Stops after the current work. Children keep running. */
  stop(): Promise<void>;
  /** Starts no more work, and leaves the platform open. */
  abandon(): Promise<void>;
}

/** Milliseconds until work that may not start is tried again. */
const PAUSED = 1000;

/** Returns the milliseconds until the next attempt; undefined for a stalled key. Failures without a delay back off as they allow. */
function delayAfter(problem: unknown, queue: WorkQueue, text: string): number | undefined {
  if (problem instanceof Stalled) return undefined;
  if (problem instanceof Waiting) return problem.retryIn;
  const backOff = queue.failed(text);
  if (!(problem instanceof Retriable)) return backOff;
  return Math.max(Math.min(backOff, problem.retryWithin ?? Infinity), problem.retryAfter ?? 0);
}

/** Reconciles one key once, and schedules the next attempt. */
async function attempt(
  queue: WorkQueue,
  text: string,
  step: (key: ResourceKey) => Promise<Attempted>,
  onProblem: OnProblem,
): Promise<Attempted> {
  const key = parseKey(text);
  try {
    const done = await step(key);
    queue.forget(text);
    if (done.again !== undefined) queue.addAfter(text, done.again);
    return done;
  } catch (problem) {
    const retryIn = delayAfter(problem, queue, text);
    if (retryIn !== undefined) queue.addAfter(text, retryIn);
    onProblem(key, problem, retryIn);
    return { result: resultOf(problem) };
  }
}

/**
 * Runs the control loop. For each change, it queues the keys of the affected resources. For each key, it observes the platform, plans,
 * applies the outcome and writes the status. Resolves when the first state is queued.
 */
export async function reconcile(
  platform: Platform,
  clock: Clock,
  onProblem: OnProblem,
  { workers, resync, random = Math.random, mayAct = () => true, onWork }: LoopOptions = {},
): Promise<Reconciling> {
  const changes: WorkQueue = new WorkQueue({
    clock,
    concurrency: 1,
    async work(text) {
      await attempt(changes, text, enqueueDependents, onProblem);
    },
  });
  const keys: WorkQueue = new WorkQueue({
    clock,
    concurrency: workers,
    async work(text, waited) {
      if (!mayAct()) {
        keys.addAfter(text, PAUSED);
        return;
      }
      const startedAt = clock.now();
      const now = new Date(startedAt).toISOString();
      const { result, gone } = await attempt(keys, text, (key) => reconcileOne(platform, key, now), onProblem);
      if (resync !== undefined && gone !== true) keys.addAfter(text, Math.round(resync * (0.8 + 0.4 * random())));
      onWork?.(parseKey(text), result, waited, clock.now() - startedAt);
    },
  });

  async function enqueueDependents(change: ResourceKey): Promise<Attempted> {
    for (const key of affected(change, await platform.observe(change.namespace))) keys.add(keyText(key));
    return { result: 'success' };
  }

  const abandon = async (): Promise<void> => {
    await Promise.all([changes.close(), keys.close()]);
  };
  await platform.watch((key) => changes.add(keyText(key)));
  return {
    async idle() {
      await changes.idle();
      await keys.idle();
    },
    depth: () => changes.depth + keys.depth,
    async stop() {
      await platform.close();
      await abandon();
    },
    abandon,
  };
}
