import { restartOf } from '#operator/plan/object-parts';
import type { StoredResource } from '../stores/resources.ts';
import type { Edited } from './detail.ts';

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
