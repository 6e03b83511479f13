import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import { childOf, ownedMetadata, restartedAt, runtimeSelector } from './object-parts.ts';
import type { Child, ClusterObject, Rendered } from './outcome.ts';
import { renderConfigMap } from './render-config-map.ts';
import { renderRuntimeDeployment } from './render-deployment.ts';
import { renderRuntimeNetworkPolicy } from './render-network-policy.ts';
import { listenOf } from './render-run-config.ts';
import { renderAutoscaler, renderDisruptionBudget } from './render-scaling.ts';
import { renderMetricsService, renderRuntimeService } from './render-service.ts';
import type { ServerSpec } from './server-spec.ts';

/** Renders all objects of a runtime in a cluster except its Secrets: only the platform knows their values. */
function renderRuntimeObjects(
  manifest: Manifest,
  spec: ServerSpec,
  rendered: Rendered,
  cluster: ClusterFacts,
  snapshot: Snapshot,
): ClusterObject['object'][] {
  const port = rendered.document.listen?.port ?? 4483;
  const policy = spec.networkPolicy?.enabled ?? true;
  return [
    renderConfigMap(manifest, rendered, snapshot),
    ...(spec.serviceAccount === undefined ? [renderServiceAccount(manifest, snapshot)] : []),
    renderRuntimeDeployment(manifest, spec, rendered, cluster, snapshot),
    renderRuntimeService(manifest, spec, port, snapshot),
    renderMetricsService(manifest, snapshot),
    ...renderDisruptionBudget(manifest, spec, snapshot),
    ...renderAutoscaler(manifest, spec, snapshot),
    ...(policy ? [renderRuntimeNetworkPolicy(manifest, cluster, snapshot)] : []),
  ];
}

/** Renders the children of a VirtualMCPServer or a single MCPServer: a process on one machine, or the objects of a runtime in a cluster. */
export function renderChildren(manifest: Manifest, spec: ServerSpec, rendered: Rendered, snapshot: Snapshot): Child[] {
  const { platform } = snapshot;
  if (platform.mode === 'cluster') {
    const objects = renderRuntimeObjects(manifest, spec, rendered, platform, snapshot);
    return objects.map((object) => ({ platform: 'cluster', object }));
  }
  const { host, port, private_port: privatePort } = listenOf(manifest, spec, snapshot);
  const at = restartedAt(manifest);
  const restart = at === '' ? {} : { restartedAt: at };
  const tls = spec.tls ? { tls: true as const } : {};
  return [{ platform: 'local', role: 'runtime', name: childOf(manifest), host, port, privatePort, ...tls, ...restart }];
}

/** Renders an account without permissions: the runtime needs none. */
function renderServiceAccount(manifest: Manifest, snapshot: Snapshot): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: ownedMetadata(childOf(manifest), runtimeSelector(manifest), manifest, snapshot),
    automountServiceAccountToken: false,
  };
}
