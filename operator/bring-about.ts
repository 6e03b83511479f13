import { Stalled, Waiting } from '#operator/errors';
import type { Outcome } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import { summariseProblem, withProblem } from '#operator/plan/summarise-status';
import type { Platform } from '#operator/platform';
import { type Manifest, manifestOf, type ResourceKey, runtimeName, type World } from '#operator/world';

/** How the work on one resource went. */
export type WorkResult = 'success' | 'stalled' | 'waiting' | 'error';

/** What came of an attempt that did not throw. */
export interface Attempted {
  result: WorkResult;
  /** Milliseconds until the next look, although nothing changes. */
  again?: number | undefined;
  /** The resource is gone. */
  gone?: boolean;
}

/** Makes one resource what it should be, and says in its status how that went. Throws what stood in the way. `now` is RFC 3339. */
export async function bringAbout(platform: Platform, key: ResourceKey, now: string): Promise<Attempted> {
  const world = await platform.observe(key.namespace);
  // As it is planned now: by the time that something fails it may have changed.
  const manifest = manifestOf(key, world);
  let outcome: Outcome | undefined;
  try {
    outcome = await planWhole(key, world, now);
    await platform.apply(outcome);
  } catch (problem) {
    const failed = outcome
      ? withProblem(outcome, problem, manifest, now)
      : unplanned(key, problem, { manifest, world, now });
    await reportProblem(platform, failed, problem);
    throw problem;
  }
  await platform.report(outcome);
  return attempted(outcome);
}

/** The plan once all policies that it needs are read. */
async function planWhole(key: ResourceKey, world: World, now: string): Promise<Outcome> {
  let outcome = plan(key, world, now);
  while (await world.policies?.readNoted()) outcome = plan(key, world, now);
  return outcome;
}

function attempted({ action, requeueAfter: again }: Outcome): Attempted {
  if (action !== 'keep') return { result: 'success', again, gone: action === 'remove' };
  return { result: again === undefined ? 'stalled' : 'waiting', again };
}

/** How an attempt went that threw. */
export function resultOf(problem: unknown): WorkResult {
  if (problem instanceof Stalled) return 'stalled';
  return problem instanceof Waiting ? 'waiting' : 'error';
}

interface Circumstances {
  manifest: Manifest | undefined;
  world: World;
  now: string;
}

/** The outcome of a plan that failed: what runs is left as it is. */
function unplanned(key: ResourceKey, problem: unknown, { manifest, world, now }: Circumstances): Outcome {
  const serving = Object.hasOwn(world.documents, runtimeName(key));
  const status = manifest ? { status: summariseProblem(problem, manifest, serving, now) } : {};
  return { key, action: 'keep', children: [], ...status };
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

function textOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
