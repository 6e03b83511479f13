import type { ProblemCode } from '../problem.ts';
import { identityOf } from '../stores/resources.ts';
import { tellNotYet } from './not-yet.ts';
import { isRestarting } from './stop-and-start.ts';
import type { LookedAt } from './workloads.ts';

/** Milliseconds within which a restart that was asked for is to be carried out. */
const DEADLINE = 300_000;

interface AskedFor {
  name: string;
  /** Which workload of that name was meant. */
  identity: string;
  /** Milliseconds since the epoch. */
  asked_at?: number | undefined;
}

type End = { status: 'done' } | { status: 'failed'; code: ProblemCode; detail: string };

/** How a restart ended that stands in a manifest: carried out, or it will not be. Undefined as long as it is under way. */
export function endOfRestart(
  { name, identity, asked_at: askedAt = 0 }: AskedFor,
  seen: LookedAt | undefined,
  now: number,
): End | undefined {
  if (!seen) return { status: 'failed', code: 'not_found', detail: `there is no workload "${name}"` };
  const { resource, state } = seen;
  // Another one that was made under the name since is not meant, one that was stopped since has nothing to start anew, and where nothing
  // runs all is new when it runs.
  const isMoot = identityOf(resource) !== identity || resource.spec.suspend === true || state.status === 'unknown';
  if (isMoot || !isRestarting(resource)) return { status: 'done' };
  if (state.status !== 'error' && now - askedAt <= DEADLINE) return undefined;
  return { status: 'failed', code: 'unavailable', detail: tellNotYet(name, 'started anew', state) };
}
