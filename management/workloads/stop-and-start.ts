import { restartOf } from '#operator/plan/object-parts';
import type { ProblemCode } from '../problem.ts';
import { identityOf, type StoredResource } from '../stores/resources.ts';
import type { Edited } from './detail.ts';
import { tellNotYet } from './workload-state.ts';
import type { LookedAt } from './workloads.ts';

/** Annotation, below the API group; a new timestamp restarts the whole workload. */
const RESTARTED_AT = 'restarted-at';

export function stopped({ spec, annotations }: StoredResource): Edited {
  return { annotations, spec: spec.suspend === true ? spec : { ...spec, suspend: true } };
}

/** Undoes a stop: the resource is then unchanged. */
export function started({ spec, annotations }: StoredResource): Edited {
  const { suspend, ...rest } = spec;
  return { annotations, spec: suspend === true ? rest : spec };
}

/** Keeps a restart later than `at` (RFC 3339). A stopped workload starts. `apiGroup` is the group of a new annotation. */
export function restarted(resource: StoredResource, at: string, apiGroup: string): Edited {
  const { spec, annotations } = started(resource);
  const former = Object.keys(annotations).find((name) => name.endsWith(`/${RESTARTED_AT}`));
  const name = former ?? `${apiGroup}/${RESTARTED_AT}`;
  const last = annotations[name] ?? '';
  return { spec, annotations: last >= at ? annotations : { ...annotations, [name]: at } };
}

export function isRestarting({ annotations, status }: StoredResource): boolean {
  const at = restartOf(annotations);
  return at !== '' && status?.restartedAt !== at;
}

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
