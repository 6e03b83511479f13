import type { Manifest, Snapshot } from '../snapshot.ts';
import { childOf, ownedMetadata, runtimeSelector } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';

/** Renders an account without permissions: the runtime needs none. */
export function renderServiceAccount(manifest: Manifest, snapshot: Snapshot): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: ownedMetadata(childOf(manifest), runtimeSelector(manifest), manifest, snapshot),
    automountServiceAccountToken: false,
  };
}
