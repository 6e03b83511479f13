import { type Manifest, type Named, runtimeName, type World } from '../world.ts';
import { runtimeChildOf } from './child-names.ts';
import type { ClusterObject } from './outcome.ts';

/** Name of the objects of the runtime that a resource has. */
export function childOf({ kind, metadata }: Named): string {
  return runtimeChildOf({ kind, name: metadata.name });
}

/** Under which name the world has what is known of that runtime. */
export function runtimeNameOf({ kind, metadata }: Named): string {
  return runtimeName({ kind, name: metadata.name });
}

/** Label of the pods of the runtime of a VirtualMCPServer. */
export const RUNTIME = 'vmcp-runtime';
const PROXY = 'vmcp-proxy';

/** Labels of the pods of every runtime, those of MCPServers by themselves included. */
export const RUNTIMES = [RUNTIME, PROXY];

/** Label of the pods of the programs of MCPServers. */
export const PROGRAMS = 'mcp-backend';

const labelled = (name: string, { metadata }: Named) => ({
  'app.kubernetes.io/name': name,
  'app.kubernetes.io/instance': metadata.name,
});

/** Labels that tell the runtime's pods of one resource from all others. */
export function runtimeSelector(named: Named): Record<string, string> {
  return labelled(named.kind === 'VirtualMCPServer' ? RUNTIME : PROXY, named);
}

/** The same for the pods of the program of an MCPServer. */
export function backendSelector(named: Named): Record<string, string> {
  return labelled(PROGRAMS, named);
}

/** The same as `kubectl scale` and the scale subresource read it. */
export function selectorText(selector: Record<string, string>): string {
  return Object.entries(selector)
    .map(([label, value]) => `${label}=${value}`)
    .join(',');
}

const RESTARTED_AT = 'restarted-at';

type Annotations = Readonly<Record<string, string>>;

/** The restart that annotations ask for, whatever their API group; empty where they ask for none. */
export function restartOf(annotations: Annotations = {}): string {
  return Object.entries(annotations).find(([name]) => name.endsWith(`/${RESTARTED_AT}`))?.[1] ?? '';
}

/** When a person asked for a restart; empty where nobody did. */
export function restartedAt(manifest: Manifest): string {
  return restartOf(manifest.metadata.annotations);
}

/** Annotations of a pod template: which container people mean, and what brings a restart about. */
export function podAnnotations(container: string, manifest: Manifest, { apiGroup }: World): Record<string, string> {
  const at = restartedAt(manifest);
  return {
    'kubectl.kubernetes.io/default-container': container,
    ...(at === '' ? {} : { [`${apiGroup}/${RESTARTED_AT}`]: at }),
  };
}

/** Pods are spread over zones and nodes where there are several; where not, they run all the same. */
export function topologySpread(selector: Record<string, string>): object[] {
  return ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map((topologyKey) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: selector },
    // So that the pods of the former shape do not count while they are replaced.
    matchLabelKeys: ['pod-template-hash'],
  }));
}

/** metadata of an object that a resource owns: with the resource goes the object. `labels` tell what it belongs to. */
export function ownedMetadata(
  name: string,
  labels: Record<string, string>,
  { apiVersion, kind, metadata }: Manifest,
  { namespace }: Pick<World, 'namespace'>,
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
