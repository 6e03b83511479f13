import { join } from 'node:path';
import { SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { IMAGES } from './images.ts';
import type { Finished } from './run-program.ts';
import { collectionOf, type Written } from './send-manifests.ts';
import type { Cluster, Namespace } from './use-cluster.ts';

const CRDS = join(import.meta.dirname, '../../crds/manifests');
const API = 'vmcp.dev/v1alpha1';

/** The fields of a status that the tests read. */
export interface Seen {
  phase?: string;
  observedGeneration?: number;
  toolCount?: number;
  restartedAt?: string;
  backends?: { name: string; phase: string; message: string; lastTransitionTime: string; tools?: number }[];
  conditions?: { type: string; status: string; reason: string; message: string; lastTransitionTime: string }[];
}

/** The fields of a live object that the tests read. */
export interface ObservedObject {
  kind: string;
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    deletionTimestamp?: string;
    annotations?: Record<string, string>;
    ownerReferences?: { kind: string; name: string; uid: string }[];
  };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
  status?: Seen;
}

/**
 * Waits until the API server serves the definitions; `which` names them as for kubectl. A new definition has no
 * conditions, which kubectl 1.30 reports as an error.
 */
export async function untilEstablished(cluster: Cluster, ...which: string[]): Promise<Finished> {
  const waiting = ['wait', '--for=condition=Established', '--timeout=50s', ...which];
  return eventually(
    () => cluster.kubectl(waiting),
    ({ stderr }) => !stderr.includes('accessor error'),
    30_000,
  );
}

export async function installDefinitions(cluster: Cluster): Promise<void> {
  const applied = await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', CRDS]);
  for (const { code, stderr } of [applied, await untilEstablished(cluster, '-f', CRDS)]) {
    if (code !== 0) throw new Error(`the definitions: ${stderr}`);
  }
}

export const group = (name: string): Written => ({ apiVersion: API, kind: 'MCPGroup', metadata: { name }, spec: {} });

export const server = (name: string, groupRef: string, spec: object = {}): Written => ({
  apiVersion: API,
  kind: 'VirtualMCPServer',
  metadata: { name },
  spec: { config: { groupRef }, incomingAuth: { type: 'anonymous' }, ...spec },
});

export const backend = (name: string, spec: object): Written => ({
  apiVersion: API,
  kind: 'MCPServer',
  metadata: { name },
  spec,
});

/** Returns a backend of our test image that runs a fake with these arguments. */
export const fake = (name: string, program: string, args: readonly string[] = []): object => ({
  image: IMAGES.backends,
  command: ['node', `/app/e2e/fakes/${program}/main.ts`, '--port', '8080', ...args],
  transport: 'streamable-http',
  env: [{ name: 'HOST', value: '::' }],
  ...(name === '' ? {} : { groupRef: name }),
});

export const secret = (name: string, values: Record<string, string>): Written & { stringData: object } => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: values,
});

/** A namespace of a suite and its objects. */
export class Stage {
  readonly cluster: Cluster;
  #namespace: Namespace | undefined;

  /** The namespace may come later, as a suite declares its stage before any object exists. */
  constructor(cluster: Cluster, namespace?: Namespace) {
    this.cluster = cluster;
    this.#namespace = namespace;
  }

  get namespace(): Namespace {
    if (!this.#namespace) throw new Error('the namespace of this suite has not been made');
    return this.#namespace;
  }

  set namespace(namespace: Namespace) {
    this.#namespace = namespace;
  }

  async apply(...objects: readonly Written[]): Promise<void> {
    for (const object of objects) {
      const path = `${collectionOf(object, this.namespace.name)}/${object.metadata.name ?? ''}`;
      const { status, body } = await this.cluster.apply(path, object);
      if (status >= 300) throw new Error(`${object.kind} ${object.metadata.name ?? ''}: ${JSON.stringify(body)}`);
    }
  }

  async remove(kind: string, name: string): Promise<void> {
    await this.cluster.ask('DELETE', this.#path(kind, name));
  }

  /** Returns undefined for a missing object. */
  async get(kind: string, name: string): Promise<ObservedObject | undefined> {
    const { status, body } = await this.cluster.ask('GET', this.#path(kind, name));
    return status === 200 ? (body as ObservedObject) : undefined;
  }

  async list(kind: string, labels = ''): Promise<ObservedObject[]> {
    const query = labels === '' ? '' : `?labelSelector=${encodeURIComponent(labels)}`;
    const { body } = await this.cluster.ask('GET', `${this.#path(kind)}${query}`);
    return (body as { items: ObservedObject[] }).items.map((item) => ({ ...item, kind }));
  }

  async patch(kind: string, name: string, change: object): Promise<void> {
    const { status, body } = await this.cluster.ask('PATCH', this.#path(kind, name), change, {
      'content-type': 'application/merge-patch+json',
    });
    if (status !== 200) throw new Error(`patch of ${kind} ${name}: ${JSON.stringify(body)}`);
  }

  /** Returns the status of a resource as soon as it satisfies `isSo`. */
  async status(kind: string, name: string, isSo: (status: Seen) => boolean, milliseconds = 30_000): Promise<Seen> {
    return eventually(async () => (await this.get(kind, name))?.status ?? {}, isSo, milliseconds);
  }

  /** Returns the status of a VirtualMCPServer as soon as all its configuration is delivered and answers. */
  async ready(name: string, milliseconds = 60_000): Promise<Seen> {
    const isReady = (live: ObservedObject | undefined) =>
      live?.status?.phase === 'Ready' && live.status.observedGeneration === live.metadata.generation;
    const live = await eventually(() => this.get('VirtualMCPServer', name), isReady, milliseconds);
    return live?.status ?? {};
  }

  /** Returns a server's URL for this machine, and its Host header. */
  async endpoint(name: string): Promise<{ url: string; headers: { host: string } }> {
    const service = await this.get('Service', `vmcp-${name}`);
    const address = (service?.spec as { clusterIP?: string } | undefined)?.clusterIP ?? '';
    const host = `vmcp-${name}.${this.namespace.name}.svc:4483`;
    return { url: `http://${address.includes(':') ? `[${address}]` : address}:4483/mcp`, headers: { host } };
  }

  /** Opens a session at a server, like a client on this machine. */
  async connect(name: string, headers: Record<string, string> = {}): Promise<SessionClient> {
    const place = await this.endpoint(name);
    return SessionClient.open(place.url, { ...place.headers, ...headers });
  }

  #path(kind: string, name?: string): string {
    const apiVersion = API_VERSIONS[kind] ?? API;
    const collection = collectionOf({ apiVersion, kind, metadata: {} }, this.namespace.name);
    return name === undefined ? collection : `${collection}/${name}`;
  }
}

const API_VERSIONS: Record<string, string> = {
  ConfigMap: 'v1',
  Secret: 'v1',
  Service: 'v1',
  ServiceAccount: 'v1',
  Pod: 'v1',
  Event: 'v1',
  Deployment: 'apps/v1',
  ReplicaSet: 'apps/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  PodDisruptionBudget: 'policy/v1',
  Role: 'rbac.authorization.k8s.io/v1',
};

export const condition = (status: Seen | undefined, type: string) =>
  status?.conditions?.find((one) => one.type === type);
