import type { Kind, Manifest } from '#operator/world';
import type { KubeObject } from './object.ts';

/** A namespaced resource of the API server as the planner reads it; items of a list do not say their kind. */
export function manifestOf(kind: Kind, object: KubeObject): Manifest {
  const { namespace = '', ...metadata } = object.metadata;
  return { ...object, kind, metadata: { ...metadata, namespace } };
}
