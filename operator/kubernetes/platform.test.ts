import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#operator/testdata/manual-clock';
import { keyText, type Snapshot } from '#operator/snapshot';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { ClusterObject, Outcome } from '#operator/plan/outcome';
import type { KubeApi } from './api/api.ts';
import type { KubeObject } from './api/object.ts';
import { KubernetesPlatform } from './platform.ts';
import type { KubernetesOptions } from './kubernetes-options.ts';
import { eventually } from './testdata/eventually.ts';
import { statusBody } from './testdata/fake-api-server.ts';
import { ObjectServer } from './testdata/object-server.ts';

const ISSUER = 'https://kubernetes.default.svc';
const MINUTE = 60_000;
const RESOURCES = '/apis/vmcp.dev/v1alpha1/namespaces/ns';
const keyCalled = (kid: string) => ({ kty: 'EC', kid });

/** Also publishes an issuer and its keys. The watches report only the changes of a test. */
class IssuerServer extends ObjectServer {
  keys: object[] = [keyCalled('first')];
  issuer = ISSUER;
  /** Queries of lists and watches of Secrets. */
  readonly secretQueries: URLSearchParams[] = [];
  /** Watches that are open, by path. */
  readonly watches = new Map<string, ServerResponse>();
  /** Readings of the key set so far. */
  readings = 0;
  isAway = false;

  protected override serve(request: IncomingMessage, response: ServerResponse, text: string): void {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://server');
    if (request.method === 'GET' && pathname.endsWith('/secrets')) this.secretQueries.push(searchParams);
    if (searchParams.has('watch')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      this.watches.set(pathname, response);
    } else if (pathname === '/.well-known/openid-configuration') this.#tell(response, { issuer: this.issuer });
    else if (pathname === '/openid/v1/jwks') {
      this.readings++;
      this.#tell(response, { keys: this.keys });
    } else super.serve(request, response, text);
  }

  #tell(response: ServerResponse, body: object): void {
    response.writeHead(this.isAway ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(this.isAway ? statusBody(500, 'InternalError') : body));
  }
}

let server: IssuerServer;
let api: KubeApi;
let clock: ManualClock;
let platform: KubernetesPlatform;
let told: string[];
let warnings: string[];
beforeEach(async () => {
  server = await new IssuerServer().start();
  api = server.api();
  clock = new ManualClock();
  [told, warnings] = [[], []];
  put('virtualmcpservers', 'VirtualMCPServer', 'demo', {
    config: { groupRef: 'tools' },
    incomingAuth: { type: 'anonymous' },
  });
  put('mcpservers', 'MCPServer', 'own', { remoteUrl: 'https://mcp.example/mcp', proxyPort: 9000 });
  put('mcpservers', 'MCPServer', 'plain', { remoteUrl: 'https://mcp.example/mcp' });
  platform = open();
  platform.start();
  await platform.synced();
  await platform.watch((key) => told.push(keyText(key)));
  told.splice(0);
});
afterEach(async () => {
  await platform.close();
  await api.close();
  await server.close();
});

const ignore = () => undefined;
function put(plural: string, kind: string, name: string, spec: object): void {
  const metadata = { name, namespace: 'ns' };
  server.put(`${RESOURCES}/${plural}/${name}`, { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec });
}

function open(fetchStatus?: KubernetesOptions['fetchStatus']): KubernetesPlatform {
  return new KubernetesPlatform({
    api,
    clock,
    log: { debug: ignore, info: ignore, error: ignore, warn: (message) => void warnings.push(message) },
    apiGroup: 'vmcp.dev',
    namespaces: ['ns'],
    operatorNamespace: 'system',
    instance: 'test',
    runtimeImage: 'vmcp-runtime:0.1.0',
    allowHostPaths: false,
    stdioAttach: false,
    imagePullSecrets: [],
    scraperNamespaces: [],
    pods: {},
    maxConcurrentRollouts: 2,
    ...(fetchStatus && { fetchStatus }),
  });
}

const known = async () => {
  const { platform: facts } = await platform.observe('ns');
  return facts.mode === 'cluster' ? { issuer: facts.issuer, keySet: facts.keySet } : undefined;
};

/** Advances the clock, and waits until the key set has been read this many times since the start and the last reading has taken effect. */
async function pass(milliseconds: number, readings: number): Promise<void> {
  clock.pass(milliseconds);
  await eventually(() => server.readings === readings, `reading ${readings}`);
  await eventually(() => clock.timers > 0, 'the next reading is due');
}

describe("KubernetesPlatform and the API server's issuer", () => {
  it('reads issuer and keys before the first plan, and then each minute', async () => {
    expect(await known()).toEqual({ issuer: ISSUER, keySet: { keys: [keyCalled('first')] } });
    clock.pass(MINUTE - 1);
    // A started reading would be visible by the time of this answer.
    await api.getPath('/.well-known/openid-configuration');
    expect(server.readings).toBe(1);
    await pass(1, 2);
    await pass(MINUTE, 3);
    // The same keys cause no event.
    expect(told).toEqual([]);
  });

  it.each([
    ['key', () => (server.keys = [keyCalled('second')]), { issuer: ISSUER, keySet: { keys: [keyCalled('second')] } }],
    [
      'issuer',
      () => (server.issuer = 'https://other.example'),
      { issuer: 'https://other.example', keySet: { keys: [keyCalled('first')] } },
    ],
  ])('plans all runtimes again after a change of the %s, and nothing else', async (_what, change, expected) => {
    change();
    await pass(MINUTE, 2);
    await eventually(() => told.length >= 2, 'the runtimes are told');
    expect(told.sort()).toEqual(['MCPServer/ns/own', 'VirtualMCPServer/ns/demo']);
    expect(await known()).toEqual(expected);
  });

  it('keeps the keys while they cannot be read, and updates them afterwards', async () => {
    server.isAway = true;
    server.keys = [keyCalled('second')];
    await pass(MINUTE, 2);
    await eventually(() => warnings.length > 0, 'a warning');
    expect(warnings).toEqual(['issuer and keys of the API server cannot be read']);
    expect(await known()).toEqual({ issuer: ISSUER, keySet: { keys: [keyCalled('first')] } });
    expect(told).toEqual([]);
    server.isAway = false;
    await pass(MINUTE, 3);
    await eventually(() => told.length >= 2, 'the runtimes are told');
    expect(await known()).toEqual({ issuer: ISSUER, keySet: { keys: [keyCalled('second')] } });
  });

  it('reads nothing after it is closed', async () => {
    await platform.close();
    clock.pass(2 * MINUTE);
    await api.getPath('/.well-known/openid-configuration');
    expect(server.readings).toBe(1);
  });

  it("ignores a change of the keys' order", async () => {
    server.keys = [keyCalled('a'), keyCalled('b')];
    await pass(MINUTE, 2);
    await eventually(() => told.length >= 2, 'the runtimes are told');
    told.splice(0);
    server.keys = [keyCalled('b'), keyCalled('a')];
    await pass(MINUTE, 3);
    await pass(MINUTE, 4);
    expect(told).toEqual([]);
  });
});

it("KubernetesPlatform neither lists nor watches Helm's release Secrets", async () => {
  // The label selector finds the operator's own Secrets.
  const ofOthers = () => server.secretQueries.filter((query) => !query.has('labelSelector'));
  await eventually(() => ofOthers().some((query) => query.has('watch')), 'a watch of Secrets');
  expect(ofOthers().some((query) => !query.has('watch'))).toBe(true);
  expect(new Set(ofOthers().map((query) => query.get('fieldSelector')))).toEqual(new Set(['type!=helm.sh/release.v1']));
});

describe('Secrets of a namespace beyond the limit', () => {
  it('appear in the snapshot with the reason why they are not read', async () => {
    await platform.close();
    const heavy = { name: 'heavy', namespace: 'ns' };
    const data = { k: 'a'.repeat(8 * 1024 * 1024) };
    server.put('/api/v1/namespaces/ns/secrets/heavy', { apiVersion: 'v1', kind: 'Secret', metadata: heavy, data });
    put('mcpservers', 'MCPServer', 'own', {
      headerForward: { addHeadersFromSecret: { A: { name: 'heavy', key: 'k' } } },
    });
    // The server does not convert `stringData` to `data`, so the operator creates the key again.
    server.remove('/api/v1/namespaces/system/secrets/vmcp-operator-digest-key');
    platform = open();
    platform.start();
    await platform.synced();
    const { secrets, refused } = await platform.observe('ns');
    expect(Object.keys(secrets)).toEqual([]);
    expect(refused?.secrets.heavy).toMatch(/namespace "ns" .* 8 MiB/);
  });
});

it('KubernetesPlatform plans a runtime again when its /status token is a week old, and not earlier', async () => {
  const WEEK = 7 * 24 * 60 * MINUTE;
  await platform.observe('ns');
  await pass(WEEK - 1, 2);
  expect(told).toEqual([]);
  await pass(MINUTE, 3);
  await eventually(() => told.length >= 2, 'the runtimes are told');
  await platform.observe('ns');
  const { data } = server.at('/api/v1/namespaces/ns/secrets/vmcp-demo-sealing') as { data?: Record<string, string> };
  expect(
    Buffer.from(data?.['status-token'] ?? '', 'base64')
      .toString()
      .split('\n'),
  ).toHaveLength(2);
});

const ownedByDemo = (name: string) => {
  const uid = server.at(`${RESOURCES}/virtualmcpservers/demo`)?.metadata.uid ?? '';
  const owner = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', name: 'demo', uid, controller: true };
  return {
    labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    ...{ name, namespace: 'ns', ownerReferences: [owner] },
  };
};

/** A document that names one file. The document equals the file name. */
const documentOf = (file: string) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: ownedByDemo('vmcp-demo-v0.1.0') },
  data: { 'run-config.yaml': file },
});
const deliver = (file: string) =>
  platform.apply({
    ...{ key: { kind: 'VirtualMCPServer', namespace: 'ns', name: 'demo' }, action: 'apply' },
    children: [{ platform: 'cluster', object: documentOf(file) }],
    rendered: {
      ...{ document: {} as RunConfigDocument, text: file, secretFiles: { [file]: { generated: 'sealing' } } },
      ...{ plainFiles: {}, secretDirectory: '/etc/vmcp/credentials', configDirectory: '/etc/vmcp/config' },
    },
  });
const delivered = () => {
  const credentials = server.at('/api/v1/namespaces/ns/secrets/vmcp-demo-credentials');
  return (credentials?.data ?? {}) as Record<string, string>;
};

/** The named files, and the allowed digest of each document. */
const withDigests = (...files: string[]) =>
  files.flatMap((file) => [file, `config.${createHash('sha256').update(`run-config.yaml\n${file}`).digest('hex')}`]);

it('KubernetesPlatform keeps a file of the previous document until a pod reports that it uses the new one', async () => {
  await platform.observe('ns');
  for (const file of ['sealing-1', 'sealing-2', 'sealing-2']) await deliver(file);
  expect(Object.keys(delivered())).toEqual(withDigests('sealing-1', 'sealing-2'));
});

function podOfDemo(): object {
  const replicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'vmcp-demo-5d9', uid: 'rs', controller: true };
  const labels = { 'app.kubernetes.io/name': 'vmcp-runtime', 'pod-template-hash': '5d9' };
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: 'one', namespace: 'ns', labels, ownerReferences: [replicaSet] },
    spec: { volumes: [{ configMap: { name: 'vmcp-demo-v0.1.0' } }] },
    status: { phase: 'Running', podIP: '10.0.0.1' },
  };
}

it('KubernetesPlatform keeps the file until the pod that uses it reports the new document with its file', async () => {
  const complete = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: ownedByDemo('vmcp-demo'),
    status: complete,
  };
  server.put('/apis/apps/v1/namespaces/ns/deployments/vmcp-demo', deployment);
  server.put('/api/v1/namespaces/ns/configmaps/vmcp-demo-v0.1.0', documentOf('sealing-1'));
  server.put('/api/v1/namespaces/ns/pods/one', podOfDemo());
  await platform.close();
  server.remove('/api/v1/namespaces/system/secrets/vmcp-operator-digest-key');
  // The document and the files that the pod serves.
  let [served, files]: [string, Record<string, string>] = ['sealing-1', {}];
  platform = open((_ip, [key = '']) => {
    const hashes = Object.entries(files).map(([file, text]) => [
      `/etc/vmcp/credentials/${file}`,
      createHmac('sha256', key).update(Buffer.from(text, 'base64')).digest('hex'),
    ]);
    const status = { config_digest: createHash('sha256').update(served).digest('hex'), ready: true };
    return Promise.resolve({
      status: RuntimeStatus.parse(status),
      secretFiles: Object.fromEntries(hashes) as Record<string, string>,
    });
  });
  platform.start();
  await platform.synced();
  await platform.watch(ignore);
  let observed: Snapshot['observed'] = {};
  void platform.observe('ns').then((snapshot) => (observed = snapshot.observed));
  const isTakenOver = () => {
    clock.pass(1000);
    return observed.demo?.current === true;
  };
  await eventually(isTakenOver, 'the document that stands is taken over');
  await deliver('sealing-1');
  expect(isTakenOver()).toBe(false);
  files = delivered();
  await eventually(isTakenOver, 'it is with its file');
  for (const file of ['sealing-2', 'sealing-2']) await deliver(file);
  files = delivered();
  expect([isTakenOver(), Object.keys(files)]).toEqual([false, withDigests('sealing-1', 'sealing-2')]);
  served = 'sealing-2';
  await eventually(isTakenOver, 'the new one is taken over');
  await deliver('sealing-2');
  expect(Object.keys(delivered())).toEqual(withDigests('sealing-2'));
});

it("KubernetesPlatform pushes a new document through the pod's status, which needs fewer rights than changing pods", async () => {
  server.put('/api/v1/namespaces/ns/configmaps/vmcp-demo-v0.1.0', documentOf('schema_version: v0.1.0'));
  server.put('/api/v1/namespaces/ns/pods/one', podOfDemo());
  await platform.close();
  server.remove('/api/v1/namespaces/system/secrets/vmcp-operator-digest-key');
  const said = { status: RuntimeStatus.parse({ config_digest: 'of another document' }), secretFiles: {} };
  platform = open(() => Promise.resolve(said));
  platform.start();
  await platform.synced();
  await platform.watch(ignore);
  void platform.observe('ns');
  const pushes = () => server.calls.filter(({ method, path }) => method === 'PATCH' && path.includes('/pods/'));
  await eventually(() => {
    clock.pass(0);
    return pushes().length > 0;
  }, 'it is told');
  expect(pushes().map(({ path }) => path)).toEqual(['/api/v1/namespaces/ns/pods/one/status']);
  expect(pushes()[0]?.body).toEqual({ metadata: { annotations: { 'vmcp.dev/delivered': expect.any(String) } } });
  await eventually(() => {
    clock.pass(1000);
    return pushes().length > 1;
  }, 'it is told once more');
  // A patch without a change would not wake the kubelet.
  expect(pushes()[1]?.body).not.toEqual(pushes()[0]?.body);
});

it('KubernetesPlatform ignores a watch event that is older than its own status write', async () => {
  const path = `${RESOURCES}/mcpservers/plain`;
  const listed = server.at(path);
  const before = server.put(path, { ...listed, metadata: { ...listed?.metadata, labels: { team: 'a' } } });
  const outcome: Outcome = {
    ...{ key: { kind: 'MCPServer', namespace: 'ns', name: 'plain' }, action: 'apply', children: [] },
    status: { phase: 'Ready', conditions: [] },
  };
  clock.pass(MINUTE);
  await platform.report(outcome);
  const writes = () => server.writes().filter((line) => line.endsWith('/plain/status')).length;
  expect(writes()).toBe(1);
  const watch = () => server.watches.get(`${RESOURCES}/mcpservers`);
  await eventually(() => watch() !== undefined, 'a watch');
  for (const object of [before, { ...before, metadata: { ...before.metadata, name: 'next', uid: 'next' } }]) {
    watch()?.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
  }
  await eventually(() => told.includes('MCPServer/ns/next'), 'it has told');
  clock.pass(MINUTE);
  await platform.report(outcome);
  expect(writes()).toBe(1);
});

it("KubernetesPlatform waits up to three seconds for the first statuses of a namespace's pods", async () => {
  server.put('/api/v1/namespaces/ns/pods/one', podOfDemo());
  await platform.close();
  server.remove('/api/v1/namespaces/system/secrets/vmcp-operator-digest-key');
  let asked = 0;
  platform = open(() => {
    asked += 1;
    return new Promise(() => undefined);
  });
  platform.start();
  await platform.synced();
  await platform.watch(ignore);
  let isKnown = false;
  void platform.observe('ns').then(() => (isKnown = true));
  await eventually(() => {
    clock.pass(0);
    return asked > 0;
  }, 'it is asked');
  clock.pass(2999);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isKnown).toBe(false);
  clock.pass(1);
  await eventually(() => isKnown, 'it has had its time');
});

describe('KubernetesPlatform.apply', () => {
  const KEY = { kind: 'MCPServer', namespace: 'ns', name: 'plain' } as const;
  const LABELS = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };
  const pathOf = (kind: string, name: string) =>
    `${kind === 'Deployment' ? '/apis/apps/v1' : '/api/v1'}/namespaces/ns/${kind.toLowerCase()}s/${name}`;
  const ownerCalled = (uid: string) => ({
    ...{ apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', name: 'plain' },
    ...{ uid, controller: true },
  });
  const child = (kind: string, name: string, uid: string, more: object = {}): KubeObject => ({
    ...{ apiVersion: 'v1', kind },
    metadata: { name, namespace: 'ns', labels: LABELS, ownerReferences: [ownerCalled(uid)], ...more },
  });
  const planned = (...objects: KubeObject[]): Outcome => ({
    ...{ key: KEY, action: 'apply' },
    children: objects.map((object) => ({ platform: 'cluster', object: object as ClusterObject['object'] })),
  });
  const owner = () => server.at(`${RESOURCES}/mcpservers/plain`)?.metadata.uid ?? '';

  /** Starts another operator with existing objects. No later change is reported to it. */
  async function reopen(...standing: KubeObject[]): Promise<void> {
    await platform.close();
    for (const object of standing) server.put(pathOf(object.kind, object.metadata.name), object);
    server.remove('/api/v1/namespaces/system/secrets/vmcp-operator-digest-key');
    platform = open();
    platform.start();
    await platform.synced();
    await platform.watch((key) => told.push(keyText(key)));
    server.calls.splice(0);
  }

  it('removes owned objects that the plan no longer lists, including unread Secrets, and nothing else', async () => {
    const kept = child('ConfigMap', 'kept', owner());
    await reopen(
      kept,
      child('ConfigMap', 'left', owner()),
      child('ConfigMap', 'of-another', 'another'),
      child('ConfigMap', 'going', owner(), { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      child('Secret', 'mcp-plain-proxy-sealing', owner()),
      child('Secret', 'mcp-plain-proxy-credentials', 'another'),
    );
    await platform.apply(planned(kept));
    const removed = server.writes().filter((line) => line.startsWith('DELETE'));
    expect(removed).toEqual([
      `DELETE ${pathOf('ConfigMap', 'left')}`,
      `DELETE ${pathOf('Secret', 'mcp-plain-proxy-sealing')}`,
    ]);
  });

  it('keeps a renamed Deployment until its replacement is complete', async () => {
    const [former, next] = ['mcp-plain-proxy', 'mcp-plain-proxy-x'] as const;
    const labels = { ...LABELS, 'app.kubernetes.io/name': 'mcp-backend' };
    const deployment = (name: string, updated: number) => ({
      ...{ ...child('Deployment', name, owner(), { labels }), apiVersion: 'apps/v1', spec: { replicas: 1 } },
      status: { replicas: 1, updatedReplicas: updated, availableReplicas: updated },
    });
    for (const [updated, ...kinds] of [[0] as const, [1, 'Service', 'Deployment'] as const]) {
      await reopen(deployment(former, 1), child('Service', former, owner()), deployment(next, updated));
      await platform.apply(planned({ ...deployment(next, 0), status: undefined }));
      const deletions = server.writes().filter((line) => line.startsWith('DELETE'));
      expect(deletions.sort()).toEqual(kinds.map((kind) => `DELETE ${pathOf(kind, former)}`).sort());
    }
  });

  it('removes nothing if the plan keeps everything, as for an invalid resource', async () => {
    await reopen(child('ConfigMap', 'served', owner()));
    await platform.apply({ ...planned(), action: 'keep' });
    expect(server.writes()).toEqual([]);
  });

  it('removes an object by its identity, not its replacement of the same name', async () => {
    await reopen(child('ConfigMap', 'left', owner()));
    server.remove(pathOf('ConfigMap', 'left'));
    server.put(pathOf('ConfigMap', 'left'), child('ConfigMap', 'left', 'another'));
    await expect(platform.apply(planned())).rejects.toMatchObject({ status: 409 });
    expect(server.at(pathOf('ConfigMap', 'left'))).toBeDefined();
  });

  it('creates objects before the pods that need them', async () => {
    await reopen();
    const deployment = { ...child('Deployment', 'mcp-plain', owner()), apiVersion: 'apps/v1' };
    await platform.apply(planned(deployment, child('ConfigMap', 'settings', owner())));
    expect(server.writes().map((line) => line.split('/').at(-1))).toEqual(['settings', 'mcp-plain']);
  });

  it('neither creates nor rolls pods that would mount a foreign ConfigMap', async () => {
    const deployment = (standing: object = {}) => ({
      ...child('Deployment', 'mcp-plain', owner(), standing),
      ...{ apiVersion: 'apps/v1', spec: { template: { spec: {} } } },
    });
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'ns' } };
    for (const standing of [[foreign], [foreign, deployment({ annotations: { of: 'the version before' } })]]) {
      await reopen(...standing);
      const made = platform.apply(planned(deployment(), child('ConfigMap', 'settings', owner())));
      await expect(made).rejects.toMatchObject({ reason: 'ChildNotOurs' });
      expect(server.writes().filter((line) => line.includes('deployments'))).toEqual([]);
      told.splice(0);
      clock.pass(MINUTE);
      // No watch reports foreign objects.
      expect(told).toEqual([keyText(KEY)]);
    }
  });

  it('schedules no retry after the operator has ended', async () => {
    await reopen({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'ns' } });
    const made = platform.apply(planned(child('ConfigMap', 'settings', owner())));
    await expect(made).rejects.toMatchObject({ reason: 'ChildNotOurs' });
    await platform.close();
    expect(clock.timers).toBe(0);
  });

  it('keeps the previous status while the pods are being replaced', async () => {
    const path = `${RESOURCES}/mcpservers/plain`;
    server.put(path, { ...server.at(path), status: { observedGeneration: 1 } });
    const rolling = { ...child('Deployment', 'mcp-plain', owner()), apiVersion: 'apps/v1', status: {} };
    await reopen(rolling);
    clock.pass(MINUTE);
    await platform.report({ ...planned(), status: { phase: 'Ready', observedGeneration: 2, conditions: [] } });
    expect(server.at(path)?.status).toMatchObject({ observedGeneration: 1 });
  });

  it('checks the API group of the owner, as another installation may have resources of the same names', async () => {
    const [ours] = child('Deployment', 'a', owner()).metadata.ownerReferences ?? [];
    const ownerReferences = [{ ...ours, apiVersion: 'other.example/v1alpha1' }];
    const deployments = [
      child('Deployment', 'ours', owner()),
      child('Deployment', 'theirs', owner(), { ownerReferences }),
    ];
    await reopen(...deployments.map((object) => ({ ...object, apiVersion: 'apps/v1' })));
    expect(Object.keys((await platform.observe('ns')).deployments ?? {})).toEqual(['ours']);
  });

  it('rolls a resource while the failing rollouts of others take slots', async () => {
    const annotations = { 'vmcp.dev/applied-template': 'of another version' };
    const rolling = (name: string, uid: string, conditions: object[] = []) => ({
      ...child('Deployment', name, uid, { annotations }),
      ...{ apiVersion: 'apps/v1', spec: { template: { spec: {} } }, status: { conditions } },
    });
    const stuck = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' };
    const uidOfOwn = server.at(`${RESOURCES}/mcpservers/own`)?.metadata.uid ?? '';
    const complete = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    const [one, two] = ['one', 'two'].map((name) => ({ ...rolling(name, owner()), status: complete }));
    await reopen(rolling('stuck', uidOfOwn, [stuck]), one!, two!);
    await platform.apply(planned(one!, two!));
    expect(server.writes()).toEqual(['one', 'two'].map((name) => `PATCH ${pathOf('Deployment', name)}`));
  });

  it('releases its rollout slot if the API server refuses the object', async () => {
    const annotations = { 'vmcp.dev/applied-template': 'of another version' };
    const [one, two, three] = ['one', 'two', 'three'].map((name) => ({
      ...child('Deployment', name, owner(), { annotations }),
      ...{ apiVersion: 'apps/v1', spec: { template: { spec: {} } } },
    }));
    const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    await reopen(...[one!, two!, three!].map((object) => ({ ...object, status })));
    for (let at = 0; at < 2; at += 1) {
      server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid') });
    }
    await expect(platform.apply(planned(one!, two!))).rejects.toMatchObject({ reason: 'ChildRefused' });
    server.calls.splice(0);
    await platform.apply(planned(three!, one!));
    expect(server.writes().filter((line) => line.startsWith('PATCH'))).toHaveLength(2);
  });

  it.each([
    ['that has a shape from before until it is its turn stays', 'older', {}, false],
    ['whose pods are not all replaced stays', 'newer', { updatedReplicas: 0 }, false],
    ['that is complete goes', 'newer', {}, true],
  ])(
    'decides about a ConfigMap without a mounting pod: a Deployment %s, as its pods may return',
    async (_what, mounted, less, isRemoved) => {
      const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
      const deployment = (name: string, volume: string, more: object = {}) => ({
        ...child('Deployment', name, owner(), { annotations: { 'vmcp.dev/applied-template': 'of another version' } }),
        ...{ apiVersion: 'apps/v1', ...more },
        spec: { template: { spec: { volumes: [{ name: 'config', configMap: { name: volume } }] } } },
      });
      // As many as may roll at the same time.
      const others = ['one', 'two'].map((name) => deployment(name, 'other'));
      const standing = deployment('last', mounted, { status: { ...status, ...less } });
      await reopen(child('ConfigMap', 'older', owner()), standing, ...others.map((one) => ({ ...one, status })));
      await platform.apply(planned(...others, deployment('last', 'newer')));
      expect(server.at(pathOf('ConfigMap', 'older')) === undefined).toBe(isRemoved);
      told.splice(0);
      clock.pass(3000);
      // One of three has no slot yet.
      expect(told).toEqual([keyText(KEY)]);
    },
  );

  it('neither creates objects nor writes the status of a resource that is being removed', async () => {
    const path = `${RESOURCES}/mcpservers/plain`;
    const { metadata, ...rest } = server.at(path)!;
    server.put(path, { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    await reopen();
    await platform.apply(planned(child('ConfigMap', 'settings', owner())));
    clock.pass(MINUTE);
    await platform.report({ ...planned(), status: { phase: 'Ready', conditions: [] } });
    expect(server.writes()).toEqual([]);
  });
});
