import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { NextPage } from '#operator/kubernetes/api/read-page';
import type { KubeObject, Resource } from '#operator/kubernetes/api/object';
import { cpuMicros } from '../bench/cpu-time.ts';
import type { ControlPlane } from './control-plane.ts';
import { inParallel, quantile } from './in-parallel.ts';
import { countWrites, difference, type MeasuredOperator, type Requests } from './measured-operator.ts';
import {
  BIG,
  CONFIG_MAPS,
  type Entry,
  makeResources,
  moved,
  NAMESPACES,
  SECRETS,
  SERVERS,
  sharedSecret,
} from './resources.ts';

/** Concurrent requests of the plain script: as many as the operator has workers. */
const AT_ONCE = 4;

export interface Edits {
  p50: number;
  p99: number;
  /** Requests of the operator for one edit, by verb and resource. */
  requests: Requests;
}

/** Creates the resources of so many groups. Returns the seconds that it took. */
export async function fill(api: KubeApi, groups: number): Promise<{ seconds: number; count: number }> {
  const { namespaces, entries } = makeResources(groups);
  await createAll(api, namespaces);
  const startedAt = performance.now();
  await createAll(api, entries);
  return { seconds: (performance.now() - startedAt) / 1000, count: entries.length };
}

async function createAll(api: KubeApi, entries: Entry[]): Promise<void> {
  await inParallel(entries, 16, ({ resource, object }) => api.create(resource, object));
}

/** Edits one server after the other, and waits each time until its ConfigMap contains the edit. */
export async function measureEdits(
  api: KubeApi,
  operator: MeasuredOperator,
  groups: number,
  edits: number,
): Promise<Edits> {
  const stop = new AbortController();
  const applied = await watchConfigMaps(api, BIG, stop.signal);
  const before = await operator.requests();
  const times: number[] = [];
  for (let i = 0; i < edits; i += 1) {
    const name = `server-${i % Math.ceil(groups / 2)}-${i % 5}`;
    const seen = applied(name, `x-edit-${i}`);
    const startedAt = performance.now();
    await api.patch(SERVERS, { namespace: BIG, name }, { spec: { passthroughHeaders: [`x-edit-${i}`] } });
    times.push((await seen) - startedAt);
  }
  await sleep(1000);
  const all = difference(await operator.requests(), before);
  stop.abort();
  const requests = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, value / edits]));
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), requests };
}

type Awaited = (server: string, text: string) => Promise<number>;

/** Watches for a text in the document of a server. */
async function watchConfigMaps(api: KubeApi, namespace: string, signal: AbortSignal): Promise<Awaited> {
  const waiting = new Map<string, { text: string; resolve: (at: number) => void }>();
  const { resourceVersion } = await api.list(CONFIG_MAPS, { namespace }, { limit: 1 });
  void (async () => {
    for await (const { object } of api.watch(
      CONFIG_MAPS,
      { namespace },
      { resourceVersion, signal, silence: 600_000 },
    )) {
      const server = /^vmcp-(.*)-v[\d.]+$/.exec(object.metadata.name)?.[1] ?? '';
      const wanted = waiting.get(server);
      if (wanted && JSON.stringify(object.data).includes(wanted.text)) wanted.resolve(performance.now());
    }
  })().catch(() => undefined);
  return (server, text) =>
    new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`the document of ${server} never had ${text}`)), 60_000).unref();
      waiting.set(server, { text, resolve });
    });
}

/**
 * Changes the one Secret that half of the servers use. Returns the seconds until all have the new value, and the cost.
 */
export async function rotateShared(api: KubeApi, operator: MeasuredOperator) {
  const [before, cpu, since] = [await operator.requests(), operator.cpuSeconds(), performance.now()];
  await api.patch(SECRETS, { namespace: BIG, name: 'shared' }, { data: sharedSecret('second').data });
  const seconds = (await operator.settled(since, countWrites(before) + 1)) / 1000;
  return {
    seconds,
    cpu: operator.cpuSeconds() - cpu,
    writes: countWrites(difference(await operator.requests(), before)),
  };
}

const CHILDREN: [string, string, string][] = [
  ['', 'v1', 'configmaps'],
  ['', 'v1', 'secrets'],
  ['', 'v1', 'services'],
  ['', 'v1', 'serviceaccounts'],
  ['apps', 'v1', 'deployments'],
  ['networking.k8s.io', 'v1', 'networkpolicies'],
];
const LABEL = 'app.kubernetes.io/managed-by=vmcp-operator';

/** Reads everything that the operator wrote: children, and statuses of its resources. */
async function readWritten(api: KubeApi, groups: number): Promise<{ children: Entry[]; statuses: Entry[] }> {
  const children: Entry[] = [];
  for (const [group, version, plural] of CHILDREN) {
    const resource: Resource = { group, version, plural, namespaced: true };
    for (const object of await listAll(api, resource, LABEL)) children.push({ resource, object });
  }
  const resources = new Set(makeResources(groups).entries.map(({ resource }) => resource));
  const statuses: Entry[] = [];
  for (const resource of resources) {
    if (resource === SECRETS) continue;
    for (const object of await listAll(api, resource)) if (object.status) statuses.push({ resource, object });
  }
  return { children, statuses };
}

async function listAll(api: KubeApi, resource: Resource, labelSelector?: string): Promise<KubeObject[]> {
  const found: KubeObject[] = [];
  let next: NextPage | undefined;
  do {
    const page = await api.list(resource, { labelSelector }, { limit: 500, next });
    found.push(...page.items);
    next = page.next;
  } while (next !== undefined);
  return found;
}

/**
 * Writes the same objects and statuses again, in separate namespaces, with a script that knows all of them beforehand.
 */
export async function writePlainly(api: KubeApi, groups: number, { apiServer }: ControlPlane) {
  const { children, statuses } = await readWritten(api, groups);
  const names = new Set([...children, ...statuses].map(({ object }) => object.metadata.namespace ?? ''));
  const target = (object: KubeObject) => moved(object, `plain-${object.metadata.namespace ?? ''}`);
  for (const name of names) {
    await api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `plain-${name}` } });
  }
  const copies = statuses.map(({ resource, object }) => ({ resource, object: target(object) }));
  // The API server ignores the status of a new object.
  await inParallel(copies, 16, ({ resource, object }) => api.create(resource, object));

  const [startedAt, apiCpu, ownCpu] = [performance.now(), cpuMicros(apiServer), process.cpuUsage()];
  await inParallel(children, AT_ONCE, ({ resource, object }) => {
    const copy = target(object);
    // Two Services cannot share an address.
    const { clusterIP, clusterIPs, ...spec } = (copy.spec ?? {}) as Record<string, unknown>;
    const headless = clusterIP === 'None' ? { clusterIP, clusterIPs } : {};
    const applied = resource.plural === 'services' ? { ...copy, spec: { ...spec, ...headless } } : copy;
    return api.apply(resource, { ...applied, status: undefined }, { fieldManager: 'plain', force: true });
  });
  await inParallel(copies, AT_ONCE, ({ resource, object }) =>
    api.apply(
      resource,
      { ...object, spec: undefined },
      {
        fieldManager: 'plain',
        force: true,
        subresource: 'status',
      },
    ),
  );
  const own = process.cpuUsage(ownCpu);
  return {
    writes: children.length + copies.length,
    seconds: (performance.now() - startedAt) / 1000,
    cpu: (own.user + own.system) / 1e6,
    apiServerCpu: (cpuMicros(apiServer) - apiCpu) / 1e6,
  };
}
