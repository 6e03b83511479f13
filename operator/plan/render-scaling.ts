import type { Manifest, Snapshot } from '../snapshot.ts';
import { backendChild } from './child-names.ts';
import { backendSelector, childOf, ownedMetadata, runtimeSelector } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import type { ServerSpec } from './server-spec.ts';

function mostReplicas({ autoscaling, replicas }: ServerSpec): number {
  return autoscaling?.maxReplicas ?? replicas ?? 1;
}

/** With autoscaling, the value stays until the autoscaler owns it: a field that its only owner drops falls back to 1. */
export function replicasOf(spec: ServerSpec, child: string, snapshot: Snapshot): number | undefined {
  if (!spec.autoscaling) return spec.replicas ?? 1;
  const { wanted = 0, scaledByOther = false } = snapshot.deployments?.[child] ?? {};
  if (scaledByOther) return undefined;
  const { minReplicas, maxReplicas } = spec.autoscaling;
  return Math.min(Math.max(wanted, minReplicas), maxReplicas);
}

const ONE_AT_A_TIME = { maxUnavailable: 1 };

function disruptionBudget(
  metadata: ClusterObject['object']['metadata'],
  limit: object,
  matchLabels: Record<string, string>,
): ClusterObject['object'] {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    // A pod that is not ready serves no calls and would otherwise block eviction forever.
    spec: { ...limit, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels } },
  };
}

/** Renders a budget for one disruption at a time. A single pod gets none: it would block the drain of its node. */
export function renderDisruptionBudget(
  manifest: Manifest,
  spec: ServerSpec,
  snapshot: Snapshot,
): ClusterObject['object'][] {
  if (mostReplicas(spec) < 2) return [];
  const selector = runtimeSelector(manifest);
  const metadata = ownedMetadata(childOf(manifest), selector, manifest, snapshot);
  return [disruptionBudget(metadata, spec.podDisruptionBudget ?? ONE_AT_A_TIME, selector)];
}

export function renderBackendBudget(
  manifest: Manifest,
  replicas: number,
  snapshot: Snapshot,
): ClusterObject['object'][] {
  if (replicas < 2) return [];
  const selector = backendSelector(manifest);
  const metadata = ownedMetadata(backendChild(manifest.metadata.name), selector, manifest, snapshot);
  return [disruptionBudget(metadata, ONE_AT_A_TIME, selector)];
}

export function renderAutoscaler(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot): ClusterObject['object'][] {
  if (!spec.autoscaling) return [];
  const child = childOf(manifest);
  const { minReplicas, maxReplicas, targetCPU } = spec.autoscaling;
  const target = { type: 'Utilization', averageUtilization: targetCPU };
  return [
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: ownedMetadata(child, runtimeSelector(manifest), manifest, snapshot),
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: child },
        minReplicas,
        maxReplicas,
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
      },
    },
  ];
}
