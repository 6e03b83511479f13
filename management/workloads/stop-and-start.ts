import { restartOf } from '#operator/plan/object-parts';
import type { StoredResource } from '../stores/resources.ts';
import type { Edited } from './detail.ts';

/** Annotation, below the API group; a new timestamp restarts the whole workload. */
const RESTARTED_AT = 'restarted-at';

/** Returns a workload that stops and keeps its settings. */
export function stopped({ spec, annotations }: StoredResource): Edited {
  return { annotations, spec: spec.suspend === true ? spec : { ...spec, suspend: true } };
}

/** Returns a workload that runs. A stop followed by a start leaves the resource unchanged. */
export function started({ spec, annotations }: StoredResource): Edited {
  const { suspend, ...rest } = spec;
  return { annotations, spec: suspend === true ? rest : spec };
}

/**
 * Returns a workload that restarts at a time (RFC 3339) unless it already has a later one; a stopped workload starts. `apiGroup`: group of
 * a new annotation.
 */
export function restarted(resource: StoredResource, at: string, apiGroup: string): Edited {
  const { spec, annotations } = started(resource);
  const former = Object.keys(annotations).find((name) => name.endsWith(`/${RESTARTED_AT}`));
  const name = former ?? `${apiGroup}/${RESTARTED_AT}`;
  const last = annotations[name] ?? '';
  return { spec, annotations: last >= at ? annotations : { ...annotations, [name]: at } };
}

/** Reports whether a requested restart has not been carried out yet. */
export function isRestarting({ annotations, status }: StoredResource): boolean {
  const at = restartOf(annotations);
  return at !== '' && status?.restartedAt !== at;
}
