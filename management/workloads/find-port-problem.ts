import { findPortConflicts, portClaims } from '#local/port-claims';
import { runtimeNameOf } from '#operator/plan/object-parts';
import { keyText, type Manifest, parseKey } from '#operator/snapshot';
import type { StoredResource } from '../stores/resources.ts';
import type { WorkloadRuntime } from './runtime.ts';

export interface PortProblem {
  text: string;
  /** Set when another resource of the folder asks for the port, so it does not become free by itself. */
  isClaimed: boolean;
}

const textOf = ({ kind, metadata }: Manifest): string => keyText({ kind, ...metadata });

/** Returns undefined if it can have its port, and in a cluster. */
export async function findPortProblem(
  name: string,
  spec: StoredResource['spec'],
  { apiGroup, ports }: Pick<WorkloadRuntime, 'apiGroup' | 'ports'>,
): Promise<PortProblem | undefined> {
  const { proxyPort } = spec;
  if (!ports || typeof proxyPort !== 'number') return undefined;
  const { namespace } = ports;
  const wanted: Manifest = {
    apiVersion: `${apiGroup}/v1alpha1`,
    kind: 'MCPServer',
    metadata: { name, namespace },
    spec,
  };
  const others = ports.manifests().filter((one) => textOf(one) !== textOf(wanted));
  const conflict = findPortConflicts(portClaims([...others, wanted]), []).get(namespace)?.runtimes[
    runtimeNameOf(wanted)
  ];
  if (conflict !== undefined) return { text: conflict.replace(/^\w+/, 'proxy_port'), isClaimed: true };
  if (await ports.isFree(proxyPort)) return undefined;
  const holder = ports.holderOf(proxyPort);
  // Without proxyPort, the endpoint may already have been given the port.
  if (holder === textOf(wanted)) return undefined;
  const start = `proxy_port: port ${proxyPort} is in use by`;
  const text =
    holder === undefined
      ? `${start} another program of this machine: stop that program, or write another port`
      : `${start} ${describe(holder)}: write another port`;
  return { text, isClaimed: false };
}

function describe(key: string): string {
  const { kind, name, namespace } = parseKey(key);
  return `${kind} "${name}" of namespace ${namespace}`;
}
