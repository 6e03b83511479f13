import type { Kind, Manifest } from '#operator/snapshot';
import type { KubeObject } from './object.ts';

/** Converts a namespaced resource for the planner. Items of a list do not state their kind. */
export function manifestOf(kind: Kind, object: KubeObject): Manifest {
  const { namespace = '', ...metadata } = object.metadata;
  return { ...object, kind, metadata: { ...metadata, namespace } };
}
