import type { Manifest, World } from '../world.ts';
import { childOf, ownedMetadata, runtimeSelector } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';

/** Renders an account without permissions: the runtime needs none. */
export function renderServiceAccount(manifest: Manifest, world: World): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: ownedMetadata(childOf(manifest), runtimeSelector(manifest), manifest, world),
    automountServiceAccountToken: false,
  };
}
