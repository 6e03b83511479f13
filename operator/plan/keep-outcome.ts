import type { Status } from '#crds/kinds/status';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ResourceKey } from '../snapshot.ts';
import type { Outcome } from './outcome.ts';
import { summariseProblem } from './summarise-status.ts';

/** Facts that a plan reports of a resource besides its problem. */
interface Known {
  /** The runtime still serves a former configuration. */
  serving: boolean;
  /** Members of the status that do not depend on the problem. */
  status?: Partial<Status>;
}

/**
 * Returns the outcome of a failed plan: running objects stay, no new ones start, and the status names the remedy.
 * @throws any error other than `Stalled` and `Waiting`
 */
export function keepOutcome(
  key: ResourceKey,
  problem: unknown,
  manifest: Manifest,
  known: Known,
  now: string,
): Outcome {
  if (!(problem instanceof Stalled || problem instanceof Waiting)) throw problem;
  const status = { ...summariseProblem(problem, manifest, known.serving, now), ...known.status };
  const again = problem instanceof Waiting ? { requeueAfter: problem.retryIn } : {};
  return { key, action: 'keep', children: [], status, ...again };
}
