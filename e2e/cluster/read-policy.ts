import type { Cluster } from './use-cluster.ts';

interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}
interface Peer {
  namespaceSelector?: LabelSelector;
  podSelector?: LabelSelector;
  ipBlock?: { cidr: string };
}
interface Port {
  port: number | string;
  protocol?: string;
}
interface NetworkPolicy {
  spec: {
    podSelector: LabelSelector;
    policyTypes: string[];
    ingress?: { from?: Peer[]; ports?: Port[] }[];
    egress?: { to?: Peer[]; ports?: Port[] }[];
  };
}
interface Pod {
  metadata: { namespace: string; name: string };
  spec: { containers: { ports?: { name?: string; containerPort: number }[] }[] };
}

/** Effect of a NetworkPolicy on the existing pods, each as `<namespace>/<name>`. */
interface ReadPolicy {
  /** Pods that the policy selects. */
  pods: string[];
  /** Allowed clients by port number. Other ports are closed. */
  admits: Record<number, string[] | 'everybody'>;
  /** Allowed destinations, each as `<addresses> at <ports>`. Absent: everything. */
  reaches?: string[];
}

const OPERATORS: Record<string, (key: string, values: string) => string> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

function queryOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    const write = OPERATORS[operator];
    if (!write) throw new Error(`a selector says ${operator}`);
    return write(key, values.join());
  });
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return `?labelSelector=${encodeURIComponent([...labels, ...expressions].join())}`;
}

/** Formats an egress rule: addresses, and ports with their protocol. */
function reachOf({ to, ports }: { to?: Peer[]; ports?: Port[] }): string {
  const addresses = to?.map(({ ipBlock }) => ipBlock?.cidr ?? 'pods').join() ?? 'anywhere';
  const at = ports?.map(({ port, protocol = 'TCP' }) => `${port}/${protocol}`).join() ?? 'all ports';
  return `${addresses} at ${at}`;
}

const nameOf = ({ metadata: { namespace, name } }: Pod) => `${namespace}/${name}`;

/**
 * Resolves a NetworkPolicy to pods. It queries the API server with the policy's selectors, as test clusters may not
 * enforce policies.
 */
export async function readPolicy(cluster: Cluster, namespace: string, name: string): Promise<ReadPolicy> {
  const get = async (path: string) => {
    const { status, body } = await cluster.ask('GET', path);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return body as unknown;
  };
  const podsOf = async (place: string, selector: LabelSelector) => {
    const { items } = (await get(`/api/v1/namespaces/${place}/pods${queryOf(selector)}`)) as { items: Pod[] };
    return items;
  };
  /**
   * A peer with only a podSelector is in the policy's own namespace; one with only a namespaceSelector means all pods
   * there.
   */
  const fromPeer = async ({ namespaceSelector, podSelector = {}, ipBlock }: Peer): Promise<string[]> => {
    if (ipBlock !== undefined) throw new Error(`NetworkPolicy ${name} lets in addresses`);
    if (!namespaceSelector) return (await podsOf(namespace, podSelector)).map(nameOf);
    const list = await get(`/api/v1/namespaces${queryOf(namespaceSelector)}`);
    const places = (list as { items: { metadata: { name: string } }[] }).items;
    const pods = await Promise.all(places.map(({ metadata }) => podsOf(metadata.name, podSelector)));
    return pods.flat().map(nameOf);
  };
  const policy = await get(`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${name}`);
  const { podSelector, policyTypes, ingress = [], egress = [] } = (policy as NetworkPolicy).spec;
  if (!policyTypes.includes('Ingress')) throw new Error(`NetworkPolicy ${name} lets everybody in`);
  const pods = await podsOf(namespace, podSelector);
  const numberOf = (port: number | string): number => {
    const own = pods.flatMap(({ spec }) => spec.containers.flatMap(({ ports = [] }) => ports));
    const number = typeof port === 'number' ? port : own.find((one) => one.name === port)?.containerPort;
    if (number === undefined) throw new Error(`no pod of NetworkPolicy ${name} has a port "${port}"`);
    return number;
  };
  const admits: ReadPolicy['admits'] = {};
  for (const { from, ports } of ingress) {
    if (!ports) throw new Error(`NetworkPolicy ${name} lets in at all ports`);
    const who = from ? (await Promise.all(from.map(fromPeer))).flat().sort() : 'everybody';
    for (const { port } of ports) admits[numberOf(port)] = who;
  }
  const reaches = policyTypes.includes('Egress') ? { reaches: egress.map(reachOf) } : {};
  return { pods: pods.map(nameOf).sort(), admits, ...reaches };
}
