import { findPortConflicts, portClaims } from '#local/port-claims';
import { runtimeNameOf } from '#operator/plan/object-parts';
import type { Manifest } from '#operator/snapshot';
import type { Resources, StoredResource } from '../stores/resources.ts';
import type { WorkloadRuntime } from './runtime.ts';

/** A reason why an endpoint cannot have its port now, with the remedy. */
export interface PortProblem {
  text: string;
  /** Another resource of the folder asks for the port, so it does not become free by itself. */
  isClaimed: boolean;
}

interface PortDeps {
  resources: Resources;
  runtime: Pick<WorkloadRuntime, 'apiGroup' | 'isPortFree'>;
}

// The API of a folder knows one namespace.
const NAMESPACE = 'default';

/** Returns why a workload of this machine cannot have its `proxyPort`. Returns undefined if it can, and in a cluster. */
export async function findPortProblem(
  name: string,
  spec: StoredResource['spec'],
  { resources, runtime }: PortDeps,
): Promise<PortProblem | undefined> {
  const { proxyPort } = spec;
  if (!runtime.isPortFree || typeof proxyPort !== 'number') return undefined;
  const manifestOf = ({ kind, ...one }: Pick<StoredResource, 'kind' | 'name' | 'spec'>): Manifest => ({
    apiVersion: `${runtime.apiGroup}/v1alpha1`,
    kind,
    metadata: { name: one.name, namespace: NAMESPACE },
    spec: one.spec,
  });
  const wanted = manifestOf({ kind: 'MCPServer', name, spec });
  const stored = await Promise.all((['VirtualMCPServer', 'MCPServer'] as const).map((kind) => resources.list(kind)));
  const others = stored.flat().filter((one) => one.kind !== 'MCPServer' || one.name !== name);
  const conflicts = findPortConflicts(portClaims([...others.map(manifestOf), wanted]), []).get(NAMESPACE);
  const conflict = conflicts?.runtimes[runtimeNameOf(wanted)];
  if (conflict !== undefined) return { text: conflict.replace(/^\w+/, 'proxy_port'), isClaimed: true };
  if (await runtime.isPortFree(proxyPort)) return undefined;
  const what = `port ${proxyPort} is in use by another program of this machine`;
  return { text: `proxy_port: ${what}: stop that program, or write another port`, isClaimed: false };
}
