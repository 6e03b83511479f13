import type { ProblemCode } from '../problem.ts';
import { identityOf } from '../stores/resources.ts';
import { isRestarting } from './stop-and-start.ts';
import { tellNotYet } from './workload-state.ts';
import type { LookedAt } from './workloads.ts';

/** Milliseconds within which a requested restart must be carried out. */
const DEADLINE = 300_000;

interface AskedFor {
  name: string;
  identity: string;
  /** Milliseconds since the epoch. */
  asked_at?: number | undefined;
}

type End = { status: 'done' } | { status: 'failed'; code: ProblemCode; detail: string };

export function endOfRestart(
  { name, identity, asked_at: askedAt = 0 }: AskedFor,
  seen: LookedAt | undefined,
  now: number,
): End | undefined {
  if (!seen) return { status: 'failed', code: 'not_found', detail: `there is no workload "${name}"` };
  const { resource, state } = seen;
  // No restart is needed for a newer workload of the same name, for a stopped one, or if no server runs: all processes start anew there.
  const isMoot = identityOf(resource) !== identity || resource.spec.suspend === true || state.status === 'unknown';
  if (isMoot || !isRestarting(resource)) return { status: 'done' };
  if (state.status !== 'error' && now - askedAt <= DEADLINE) return undefined;
  return { status: 'failed', code: 'unavailable', detail: tellNotYet(name, 'started anew', state) };
}
