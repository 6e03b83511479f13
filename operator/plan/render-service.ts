import type { Manifest, Snapshot } from '../snapshot.ts';
import { backendChild, metricsOf, podsOf } from './child-names.ts';
import { defined } from './defined.ts';
import { backendSelector, childOf, ownedMetadata, runtimeSelector } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import type { ServerSpec } from './server-spec.ts';

function service(metadata: ClusterObject['object']['metadata'], spec: object): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ipFamilyPolicy: 'PreferDualStack', ...spec },
  };
}

const port = (name: string, number: number) => ({ name, port: number, targetPort: name, protocol: 'TCP' });

/** Renders the Service of the public port. The private port is in no Service that may be exposed. */
export function renderRuntimeService(
  manifest: Manifest,
  spec: ServerSpec,
  publicPort: number,
  snapshot: Snapshot,
): ClusterObject['object'] {
  const selector = runtimeSelector(manifest);
  return service(
    ownedMetadata(childOf(manifest), selector, manifest, snapshot),
    defined({
      type: spec.serviceType,
      sessionAffinity: spec.sessionAffinity,
      selector,
      ports: [port('mcp', publicPort)],
    }),
  );
}

/** Renders a headless Service of the private ports, so that a metrics collector reaches each pod. */
export function renderMetricsService(manifest: Manifest, snapshot: Snapshot): ClusterObject['object'] {
  const selector = runtimeSelector(manifest);
  const labels = { ...selector, 'app.kubernetes.io/component': 'metrics' };
  return service(ownedMetadata(metricsOf(childOf(manifest)), labels, manifest, snapshot), {
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector,
    ports: [port('private', 4484)],
  });
}

export function renderBackendService(manifest: Manifest, number: number, snapshot: Snapshot): ClusterObject['object'] {
  const selector = backendSelector(manifest);
  const metadata = ownedMetadata(backendChild(manifest.metadata.name), selector, manifest, snapshot);
  return service(metadata, { type: 'ClusterIP', selector, ports: [port('mcp', number)] });
}

/** Renders the Service with the address of each pod, for a runtime that pins a session to one pod. */
export function renderPodsService(manifest: Manifest, number: number, snapshot: Snapshot): ClusterObject['object'] {
  const selector = backendSelector(manifest);
  const metadata = ownedMetadata(podsOf(backendChild(manifest.metadata.name)), selector, manifest, snapshot);
  return service(metadata, { clusterIP: 'None', selector, ports: [port('mcp', number)] });
}
