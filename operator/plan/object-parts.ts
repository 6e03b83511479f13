import { type Manifest, type Named, runtimeName, type Snapshot } from '../snapshot.ts';
import { runtimeChildOf } from './child-names.ts';
import type { ClusterObject } from './outcome.ts';

export function childOf({ kind, metadata }: Named): string {
  return runtimeChildOf({ kind, name: metadata.name });
}

export function runtimeNameOf({ kind, metadata }: Named): string {
  return runtimeName({ kind, name: metadata.name });
}

export const RUNTIME = 'vmcp-runtime';
const PROXY = 'vmcp-proxy';

/** Labels of the pods of every runtime, including the own runtimes of MCPServers. */
export const RUNTIMES = [RUNTIME, PROXY];

export const PROGRAMS = 'mcp-backend';

const labelled = (name: string, { metadata }: Named) => ({
  'app.kubernetes.io/name': name,
  'app.kubernetes.io/instance': metadata.name,
});

export function runtimeSelector(named: Named): Record<string, string> {
  return labelled(named.kind === 'VirtualMCPServer' ? RUNTIME : PROXY, named);
}

export function backendSelector(named: Named): Record<string, string> {
  return labelled(PROGRAMS, named);
}

/** Returns the selector in the form of `kubectl scale` and the scale subresource. */
export function selectorText(selector: Record<string, string>): string {
  return Object.entries(selector)
    .map(([label, value]) => `${label}=${value}`)
    .join(',');
}

const RESTARTED_AT = 'restarted-at';

type Annotations = Readonly<Record<string, string>>;

/** Returns the restart that the annotations request, of any API group; empty if there is none. */
export function restartOf(annotations: Annotations = {}): string {
  return Object.entries(annotations).find(([name]) => name.endsWith(`/${RESTARTED_AT}`))?.[1] ?? '';
}

export function restartedAt(manifest: Manifest): string {
  return restartOf(manifest.metadata.annotations);
}

export function podAnnotations(container: string, manifest: Manifest, { apiGroup }: Snapshot): Record<string, string> {
  const at = restartedAt(manifest);
  return {
    'kubectl.kubernetes.io/default-container': container,
    ...(at === '' ? {} : { [`${apiGroup}/${RESTARTED_AT}`]: at }),
  };
}

/** Spreads pods over zones and nodes. Pods also run if there is only one. */
export function topologySpread(selector: Record<string, string>): object[] {
  return ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: selector },
    // Pods of the former template do not count during a roll-out.
    matchLabelKeys: ['pod-template-hash'],
  }));
}

/** Returns the metadata of an owned object. Kubernetes deletes the object with its owner. `labels`: those of its pods or program. */
export function ownedMetadata(
  name: string,
  labels: Record<string, string>,
  { apiVersion, kind, metadata }: Manifest,
  { namespace }: Pick<Snapshot, 'namespace'>,
): ClusterObject['object']['metadata'] {
  const owner = {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    name,
    namespace,
    labels: { ...labels, 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    ownerReferences: [owner],
  };
}

export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};

export const RESTRICTED_POD = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };

export const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: 'private' },
  periodSeconds,
  failureThreshold,
  timeoutSeconds: 2,
});
