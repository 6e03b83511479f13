import type { Status } from '#crds/kinds/status';
import { Stalled, Waiting } from '../errors.ts';
import type { Manifest, ResourceKey } from '../world.ts';
import type { Outcome } from './outcome.ts';
import { summariseProblem } from './summarise-status.ts';

/** What a plan says of a resource besides its problem. */
interface Known {
  /** A former configuration goes on being served. */
  serving: boolean;
  /** Members of the status that do not depend on the problem. */
  status?: Partial<Status>;
}

/**
 * The outcome of a plan that did not come out: nothing that runs is changed, nothing new is started, and the status says
 * what to do. Throws what is neither `Stalled` nor `Waiting`.
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
