import { affected } from '#operator/affected';
import { Stalled, Waiting } from '#operator/errors';
import type { Outcome } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import { summariseProblem, withProblem } from '#operator/plan/summarise-status';
import type { Platform } from '#operator/platform';
import { type Clock, WorkQueue } from '#operator/queue';
import { keyText, manifestOf, parseKey, type ResourceKey, type World } from '#operator/world';

/** Told of each key that could not be brought about. `retryIn` is milliseconds; absent when only a change can help. */
type OnProblem = (key: ResourceKey, problem: unknown, retryIn?: number) => void;

/** Only a change helps a stalled key; a waiting one is looked at again; anything else backs off. */
function delayAfter(problem: unknown, queue: WorkQueue, text: string): number | undefined {
  if (problem instanceof Stalled) return undefined;
  return problem instanceof Waiting ? problem.retryIn : queue.failed(text);
}

function textOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/** The outcome of a plan that failed: what runs is left as it is. */
function unplanned(key: ResourceKey, problem: unknown, world: World, now: string): Outcome {
  const manifest = manifestOf(key, world);
  const serving = key.kind === 'VirtualMCPServer' && key.name in world.documents;
  const status = manifest ? { status: summariseProblem(problem, manifest, serving, now) } : {};
  return { key, action: 'keep', children: [], ...status };
}

interface Reconciling {
  /** Resolves when all that is known has been worked on; what waits for a delay does not count. */
  idle(): Promise<void>;
  /** Stops after what is worked on now. Children go on running. */
  stop(): Promise<void>;
}

/** Makes one resource what it should be, and says in its status how that went. Returns milliseconds until the next look. */
async function bringAbout(platform: Platform, key: ResourceKey, now: string): Promise<number | undefined> {
  const world = await platform.observe(key.namespace);
  let outcome: Outcome | undefined;
  try {
    outcome = plan(key, world, now);
    await platform.apply(outcome);
  } catch (problem) {
    const manifest = manifestOf(key, world);
    await reportProblem(
      platform,
      outcome ? withProblem(outcome, problem, manifest, now) : unplanned(key, problem, world, now),
      problem,
    );
    throw problem;
  }
  await platform.report(outcome);
  return outcome.requeueAfter;
}

async function reportProblem(platform: Platform, outcome: Outcome, problem: unknown): Promise<void> {
  try {
    await platform.report(outcome);
  } catch (second) {
    // Not the problem itself: a stalled key would not be tried again, and nobody would read why.
    throw new Error(`its status could not be written (${textOf(second)}) after: ${textOf(problem)}`, {
      cause: problem,
    });
  }
}

/**
 * The whole control loop. A change names a resource. The resources that depend on it are queued, as keys. For each key the
 * platform is observed, the plan says what should be, the platform makes it so, and writes the status.
 * Resolves when the platform's first state is queued.
 */
export async function reconcile(platform: Platform, clock: Clock, onProblem: OnProblem): Promise<Reconciling> {
  const changes: WorkQueue = new WorkQueue({ clock, concurrency: 1, work: (text) => attempt(changes, text, spread) });
  const keys: WorkQueue = new WorkQueue({
    clock,
    work: (text) => attempt(keys, text, (key) => bringAbout(platform, key, new Date(clock.now()).toISOString())),
  });

  async function spread(change: ResourceKey): Promise<undefined> {
    for (const key of affected(change, await platform.observe(change.namespace))) keys.add(keyText(key));
  }

  async function attempt(queue: WorkQueue, text: string, step: (key: ResourceKey) => Promise<number | undefined>) {
    const key = parseKey(text);
    try {
      const again = await step(key);
      queue.forget(text);
      if (again !== undefined) queue.addAfter(text, again);
    } catch (problem) {
      const retryIn = delayAfter(problem, queue, text);
      if (retryIn !== undefined) queue.addAfter(text, retryIn);
      onProblem(key, problem, retryIn);
    }
  }

  await platform.watch((key) => changes.add(keyText(key)));
  return {
    async idle() {
      await changes.idle();
      await keys.idle();
    },
    async stop() {
      await platform.close();
      await Promise.all([changes.close(), keys.close()]);
    },
  };
}
