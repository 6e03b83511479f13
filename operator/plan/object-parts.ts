import type { Manifest, World } from '../world.ts';
import type { ClusterObject } from './outcome.ts';

/** Labels that tell the pods of one resource from all others. */
export function selectorOf(manifest: Manifest): Record<string, string> {
  const component = manifest.kind === 'VirtualMCPServer' ? 'vmcp-runtime' : 'mcp-backend';
  return { 'app.kubernetes.io/name': component, 'app.kubernetes.io/instance': manifest.metadata.name };
}

/** metadata of an object that a resource owns: with the resource goes the object. */
export function ownedMetadata(name: string, manifest: Manifest, world: World): ClusterObject['object']['metadata'] {
  const owner = {
    apiVersion: manifest.apiVersion,
    kind: manifest.kind,
    name: manifest.metadata.name,
    uid: manifest.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    name,
    namespace: world.namespace,
    labels: { ...selectorOf(manifest), 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    ownerReferences: [owner],
  };
}
