import { RUN_CONFIG_VERSION } from '#crds/run-config/run-config';
import { type Manifest, writeText, type World } from '../world.ts';
import { runtimeChild } from './child-names.ts';
import { ownedMetadata } from './object-parts.ts';
import type { ClusterObject, Rendered } from './outcome.ts';

/** Name of the ConfigMap with the document of one schema version: two versions may stand beside each other. */
export function configMapName(server: string): string {
  return `${runtimeChild(server)}-${RUN_CONFIG_VERSION}`;
}

export function renderConfigMap(manifest: Manifest, rendered: Rendered, world: World): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedMetadata(configMapName(manifest.metadata.name), manifest, world),
    data: { 'run-config.yaml': writeText(rendered.document), ...rendered.plainFiles },
  };
}
