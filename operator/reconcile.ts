import { affected } from '#operator/affected';
import { type Attempted, bringAbout, resultOf, type WorkResult } from '#operator/bring-about';
import { Retriable, Stalled, Waiting } from '#operator/errors';
import type { Platform } from '#operator/platform';
import { type Clock, WorkQueue } from '#operator/queue';
import { keyText, parseKey, type ResourceKey } from '#operator/world';

/** Told of each key that could not be brought about. `retryIn` is milliseconds; absent when only a change can help. */
type OnProblem = (key: ResourceKey, problem: unknown, retryIn?: number) => void;

interface LoopOptions {
  /** How many resources are worked on at once. */
  workers?: number | undefined;
  /** Milliseconds after which a resource is looked at again although nothing changed, give or take a fifth. Never, without. */
  resync?: number | undefined;
  random?: () => number;
  /** Whether this process may act. Work that would begin while it may not waits. */
  mayAct?: () => boolean;
  /** Told of each attempt: how it went, how long the key had waited and how long it took, in milliseconds. */
  onWork?: (key: ResourceKey, result: WorkResult, waited: number, worked: number) => void;
}

interface Reconciling {
  /** Resolves when all that is known has been worked on; what waits for a delay does not count. */
  idle(): Promise<void>;
  /** How many resources wait to be worked on. */
  depth(): number;
  /** Stops after what is worked on now. Children go on running. */
  stop(): Promise<void>;
  /** Begins nothing more, and leaves the platform as it is. */
  abandon(): Promise<void>;
}

/** Milliseconds until work that may not begin is tried again. */
const PAUSED = 1000;

/** Only a change helps a stalled key; a waiting one is looked at again; anything else backs off as the other side asks. */
function delayAfter(problem: unknown, queue: WorkQueue, text: string): number | undefined {
  if (problem instanceof Stalled) return undefined;
  if (problem instanceof Waiting) return problem.retryIn;
  const backOff = queue.failed(text);
  if (!(problem instanceof Retriable)) return backOff;
  return Math.max(Math.min(backOff, problem.retryWithin ?? Infinity), problem.retryAfter ?? 0);
}

/** One step for one key, and when there is to be another one. */
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
 * The whole control loop. A change names a resource. The resources that depend on it are queued, as keys. For each key the
 * platform is observed, the plan says what should be, the platform makes it so, and writes the status.
 * Resolves when the platform's first state is queued.
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
      await attempt(changes, text, spread, onProblem);
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
      const { result, gone } = await attempt(keys, text, (key) => bringAbout(platform, key, now), onProblem);
      if (resync !== undefined && gone !== true) keys.addAfter(text, Math.round(resync * (0.8 + 0.4 * random())));
      onWork?.(parseKey(text), result, waited, clock.now() - startedAt);
    },
  });

  async function spread(change: ResourceKey): Promise<Attempted> {
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
