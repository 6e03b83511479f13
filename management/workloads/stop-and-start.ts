import { restartOf } from '#operator/plan/object-parts';
import type { StoredResource } from '../stores/resources.ts';
import type { Edited } from './detail.ts';

/** Annotation, below the API group: another moment starts everything of the workload anew. */
const RESTARTED_AT = 'restarted-at';

/** A workload that is to be stopped; its settings stay. */
export function stopped({ spec, annotations }: StoredResource): Edited {
  return { annotations, spec: spec.suspend === true ? spec : { ...spec, suspend: true } };
}

/** A workload that is to run. What was stopped and is started reads as it did before. */
export function started({ spec, annotations }: StoredResource): Edited {
  const { suspend, ...rest } = spec;
  return { annotations, spec: suspend === true ? rest : spec };
}

/**
 * A workload that is to be started anew at a moment (RFC 3339), if it was not later; one that is stopped is started. `apiGroup`: of the
 * annotation, where it has none yet.
 */
export function restarted(resource: StoredResource, at: string, apiGroup: string): Edited {
  const { spec, annotations } = started(resource);
  const former = Object.keys(annotations).find((name) => name.endsWith(`/${RESTARTED_AT}`));
  const name = former ?? `${apiGroup}/${RESTARTED_AT}`;
  const last = annotations[name] ?? '';
  return { spec, annotations: last >= at ? annotations : { ...annotations, [name]: at } };
}

/** Whether it is to be started anew, and that has not been carried out yet. */
export function isRestarting({ annotations, status }: StoredResource): boolean {
  const at = restartOf(annotations);
  return at !== '' && status?.restartedAt !== at;
}
