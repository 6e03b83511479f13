import type { Manifest, World } from '../world.ts';
import { backendChild, runtimeChild } from './child-names.ts';
import { defined } from './defined.ts';
import { ownedMetadata, selectorOf } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import type { ServerSpec } from './render-run-config.ts';

/** The public port alone: the private one is in no Service that may be exposed. */
export function renderRuntimeService(manifest: Manifest, spec: ServerSpec, world: World): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(runtimeChild(manifest.metadata.name), manifest, world),
    spec: defined({
      type: spec.serviceType,
      ipFamilyPolicy: 'PreferDualStack',
      sessionAffinity: spec.sessionAffinity,
      selector: selectorOf(manifest),
      ports: [{ name: 'mcp', port: 4483, targetPort: 'mcp', protocol: 'TCP' }],
    }),
  };
}

/** Where runtimes reach a backend that runs in the cluster. */
export function renderBackendService(manifest: Manifest, port: number, world: World): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(backendChild(manifest.metadata.name), manifest, world),
    spec: {
      type: 'ClusterIP',
      ipFamilyPolicy: 'PreferDualStack',
      selector: selectorOf(manifest),
      ports: [{ name: 'mcp', port, targetPort: 'mcp', protocol: 'TCP' }],
    },
  };
}
