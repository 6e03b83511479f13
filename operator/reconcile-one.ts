import { Stalled, Waiting } from '#operator/errors';
import type { Outcome } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import { summariseProblem, withProblem } from '#operator/plan/summarise-status';
import type { Platform } from '#operator/platform';
import { type Manifest, manifestOf, type ResourceKey, runtimeName, type Snapshot } from '#operator/snapshot';

/** The result of the work on one resource. */
export type WorkResult = 'success' | 'stalled' | 'waiting' | 'error';

/** The result of an attempt that did not throw. */
export interface Attempted {
  result: WorkResult;
  /** Milliseconds until the next attempt if nothing changes. */
  again?: number | undefined;
  /** The resource has been deleted. */
  gone?: boolean;
}

/** Reconciles one resource and writes its status. Throws the problem of a failed attempt. `now` is RFC 3339. */
export async function reconcileOne(platform: Platform, key: ResourceKey, now: string): Promise<Attempted> {
  const snapshot = await platform.observe(key.namespace);
  // Reads the manifest now: it may have changed by the time that something fails.
  const manifest = manifestOf(key, snapshot);
  let outcome: Outcome | undefined;
  try {
    outcome = await planWhole(key, snapshot, now);
    await platform.apply(outcome);
  } catch (problem) {
    const failed = outcome
      ? withProblem(outcome, problem, manifest, now)
      : unplanned(key, problem, { manifest, snapshot, now });
    await reportProblem(platform, failed, problem);
    throw problem;
  }
  await platform.report(outcome);
  return attempted(outcome);
}

/** Returns the plan after all policies that it needs are read. */
async function planWhole(key: ResourceKey, snapshot: Snapshot, now: string): Promise<Outcome> {
  let outcome = plan(key, snapshot, now);
  while (await snapshot.policies?.readNoted()) outcome = plan(key, snapshot, now);
  return outcome;
}

function attempted({ action, requeueAfter: again }: Outcome): Attempted {
  if (action !== 'keep') return { result: 'success', again, gone: action === 'remove' };
  return { result: again === undefined ? 'stalled' : 'waiting', again };
}

/** Returns the result of an attempt that threw. */
export function resultOf(problem: unknown): WorkResult {
  if (problem instanceof Stalled) return 'stalled';
  return problem instanceof Waiting ? 'waiting' : 'error';
}

interface RetryOptions {
  manifest: Manifest | undefined;
  snapshot: Snapshot;
  now: string;
}

/** Returns the outcome of a failed plan: it changes nothing that runs. */
function unplanned(key: ResourceKey, problem: unknown, { manifest, snapshot, now }: RetryOptions): Outcome {
  const serving = Object.hasOwn(snapshot.documents, runtimeName(key));
  const status = manifest ? { status: summariseProblem(problem, manifest, serving, now) } : {};
  return { key, action: 'keep', children: [], ...status };
}

async function reportProblem(platform: Platform, outcome: Outcome, problem: unknown): Promise<void> {
  try {
    await platform.report(outcome);
  } catch (second) {
    // Throws a new Error instead of the problem: a stalled key would not be tried again, and no status would show the reason.
    throw new Error(`its status could not be written (${textOf(second)}) after: ${textOf(problem)}`, {
      cause: problem,
    });
  }
}

function textOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
