import type { Status } from '#crds/kinds/status';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ResourceKey } from '../snapshot.ts';
import type { Outcome } from './outcome.ts';
import { summariseProblem } from './summarise-status.ts';

interface Known {
  /** The runtime still serves a former configuration. */
  serving: boolean;
  status?: Partial<Status>;
}

/** Returns the outcome of a failed plan: running objects stay, no new ones start. @throws any error other than `Stalled` and `Waiting` */
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
