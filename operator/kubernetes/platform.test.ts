import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#operator/testdata/manual-clock';
import { keyText, type World } from '#operator/world';
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

/** Also publishes an issuer and its keys. Nothing changes for who watches but what a test tells. */
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

/** Passes so much time, and waits until the key set was read so often since the start and the reading has taken effect. */
async function pass(milliseconds: number, readings: number): Promise<void> {
  clock.pass(milliseconds);
  await eventually(() => server.readings === readings, `reading ${readings}`);
  await eventually(() => clock.timers > 0, 'the next reading is due');
}

describe('issuer and keys of the API server', () => {
  it('are read before anything is planned, and again each minute', async () => {
    expect(await known()).toEqual({ issuer: ISSUER, keySet: { keys: [keyCalled('first')] } });
    clock.pass(MINUTE - 1);
    // A reading that began would be seen with this answer.
    await api.getPath('/.well-known/openid-configuration');
    expect(server.readings).toBe(1);
    await pass(1, 2);
    await pass(MINUTE, 3);
    // The same keys are no news.
    expect(told).toEqual([]);
  });

  it.each([
    ['key', () => (server.keys = [keyCalled('second')]), { issuer: ISSUER, keySet: { keys: [keyCalled('second')] } }],
    [
      'issuer',
      () => (server.issuer = 'https://other.example'),
      { issuer: 'https://other.example', keySet: { keys: [keyCalled('first')] } },
    ],
  ])('that are another %s make every runtime be planned anew, and nothing else', async (_what, change, expected) => {
    change();
    await pass(MINUTE, 2);
    await eventually(() => told.length >= 2, 'the runtimes are told');
    expect(told.sort()).toEqual(['MCPServer/ns/own', 'VirtualMCPServer/ns/demo']);
    expect(await known()).toEqual(expected);
  });

  it('stay while they cannot be read, and are followed again afterwards', async () => {
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

  it('are followed no more once it is closed', async () => {
    await platform.close();
    clock.pass(2 * MINUTE);
    await api.getPath('/.well-known/openid-configuration');
    expect(server.readings).toBe(1);
  });

  it('in another order are no news', async () => {
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

it('neither lists nor watches the Secrets in which Helm keeps its releases', async () => {
  // Those that the operator made itself are found by their label.
  const ofOthers = () => server.secretQueries.filter((query) => !query.has('labelSelector'));
  await eventually(() => ofOthers().some((query) => query.has('watch')), 'a watch of Secrets');
  expect(ofOthers().some((query) => !query.has('watch'))).toBe(true);
  expect(new Set(ofOthers().map((query) => query.get('fieldSelector')))).toEqual(new Set(['type!=helm.sh/release.v1']));
});

describe('Secrets of a namespace beyond the bound', () => {
  it('are in the world with the reason for which they are not read', async () => {
    await platform.close();
    const heavy = { name: 'heavy', namespace: 'ns' };
    const data = { k: 'a'.repeat(16 * 1024 * 1024) };
    server.put('/api/v1/namespaces/ns/secrets/heavy', { apiVersion: 'v1', kind: 'Secret', metadata: heavy, data });
    put('mcpservers', 'MCPServer', 'own', {
      headerForward: { addHeadersFromSecret: { A: { name: 'heavy', key: 'k' } } },
    });
    // The server does not turn `stringData` into `data`: it is made once more.
    server.remove('/api/v1/namespaces/system/secrets/vmcp-operator-digest-key');
    platform = open();
    platform.start();
    await platform.synced();
    const { secrets, refused } = await platform.observe('ns');
    expect(Object.keys(secrets)).toEqual([]);
    expect(refused?.secrets.heavy).toMatch(/namespace "ns" .* 16 MiB/);
  });
});

it('plans a runtime anew when its token for /status is a week old, and not before', async () => {
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

/** A document that names one file, and is that name itself. */
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

/** The files that documents name, each with the mark of its document. */
const withMarks = (...files: string[]) =>
  files.flatMap((file) => [file, `config.${createHash('sha256').update(`run-config.yaml\n${file}`).digest('hex')}`]);

it('keeps a file that a document named before beside the new one, as long as no pod says that it has taken that over', async () => {
  await platform.observe('ns');
  for (const file of ['sealing-1', 'sealing-2', 'sealing-2']) await deliver(file);
  expect(Object.keys(delivered())).toEqual(withMarks('sealing-1', 'sealing-2'));
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

it('keeps it until the pod that has taken over that one has the new one, with its file', async () => {
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
  // Which document the pod serves, and with which files.
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
  let observed: World['observed'] = {};
  void platform.observe('ns').then((world) => (observed = world.observed));
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
  expect([isTakenOver(), Object.keys(files)]).toEqual([false, withMarks('sealing-1', 'sealing-2')]);
  served = 'sealing-2';
  await eventually(isTakenOver, 'the new one is taken over');
  await deliver('sealing-2');
  expect(Object.keys(delivered())).toEqual(withMarks('sealing-2'));
});

it('tells a pod of another document by its status alone, which is less power than to change pods', async () => {
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
  // What does not change the pod would not wake its kubelet.
  expect(pushes()[1]?.body).not.toEqual(pushes()[0]?.body);
});

it('is not set back to what a resource was before its status was written, when the watch tells of that', async () => {
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

it('knows nothing before the pods of a namespace have said how they are, or have had three seconds for it', async () => {
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

describe('what a resource owns', () => {
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

  /** An operator that starts among what stands. Nothing that changes afterwards is told to it. */
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

  it('and does not want any more is removed, Secrets that nobody has read among it, and nothing else', async () => {
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

  it('serves under its former name until the Deployment of another name is complete', async () => {
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

  it('stays as it is where the plan wants everything kept, as of a resource that is wrong', async () => {
    await reopen(child('ConfigMap', 'served', owner()));
    await platform.apply({ ...planned(), action: 'keep' });
    expect(server.writes()).toEqual([]);
  });

  it('is removed itself, not what took its place meanwhile', async () => {
    await reopen(child('ConfigMap', 'left', owner()));
    server.remove(pathOf('ConfigMap', 'left'));
    server.put(pathOf('ConfigMap', 'left'), child('ConfigMap', 'left', 'another'));
    await expect(platform.apply(planned())).rejects.toMatchObject({ status: 409 });
    expect(server.at(pathOf('ConfigMap', 'left'))).toBeDefined();
  });

  it('is made in the order in which pods need it', async () => {
    await reopen();
    const deployment = { ...child('Deployment', 'mcp-plain', owner()), apiVersion: 'apps/v1' };
    await platform.apply(planned(deployment, child('ConfigMap', 'settings', owner())));
    expect(server.writes().map((line) => line.split('/').at(-1))).toEqual(['settings', 'mcp-plain']);
  });

  it('is not made, nor made anew, while somebody else’s ConfigMap has the name that its pods would mount', async () => {
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
      // Nobody tells of foreign objects.
      expect(told).toEqual([keyText(KEY)]);
    }
  });

  it('is looked for no more once the operator has ended', async () => {
    await reopen({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'ns' } });
    const made = platform.apply(planned(child('ConfigMap', 'settings', owner())));
    await expect(made).rejects.toMatchObject({ reason: 'ChildNotOurs' });
    await platform.close();
    expect(clock.timers).toBe(0);
  });

  it('is not served yet while its pods are being replaced: the status is still that of what was before', async () => {
    const path = `${RESOURCES}/mcpservers/plain`;
    server.put(path, { ...server.at(path), status: { observedGeneration: 1 } });
    const rolling = { ...child('Deployment', 'mcp-plain', owner()), apiVersion: 'apps/v1', status: {} };
    await reopen(rolling);
    clock.pass(MINUTE);
    await platform.report({ ...planned(), status: { phase: 'Ready', observedGeneration: 2, conditions: [] } });
    expect(server.at(path)?.status).toMatchObject({ observedGeneration: 1 });
  });

  it('is known by the API group of its owner, too: another installation may have resources of the same name', async () => {
    const [ours] = child('Deployment', 'a', owner()).metadata.ownerReferences ?? [];
    const ownerReferences = [{ ...ours, apiVersion: 'other.example/v1alpha1' }];
    const deployments = [
      child('Deployment', 'ours', owner()),
      child('Deployment', 'theirs', owner(), { ownerReferences }),
    ];
    await reopen(...deployments.map((object) => ({ ...object, apiVersion: 'apps/v1' })));
    expect(Object.keys((await platform.observe('ns')).deployments ?? {})).toEqual(['ours']);
  });

  it('is rolled although something of others cannot be, which holds up nobody', async () => {
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

  it('leaves its place among what rolls to others where the API server refuses it', async () => {
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
    'a ConfigMap that no pod mounts at the moment, of a Deployment %s: pods come back',
    async (_what, mounted, less, isRemoved) => {
      const status = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
      const deployment = (name: string, volume: string, more: object = {}) => ({
        ...child('Deployment', name, owner(), { annotations: { 'vmcp.dev/applied-template': 'of another version' } }),
        ...{ apiVersion: 'apps/v1', ...more },
        spec: { template: { spec: { volumes: [{ name: 'config', configMap: { name: volume } }] } } },
      });
      // As many as may roll.
      const others = ['one', 'two'].map((name) => deployment(name, 'other'));
      const standing = deployment('last', mounted, { status: { ...status, ...less } });
      await reopen(child('ConfigMap', 'older', owner()), standing, ...others.map((one) => ({ ...one, status })));
      await platform.apply(planned(...others, deployment('last', 'newer')));
      expect(server.at(pathOf('ConfigMap', 'older')) === undefined).toBe(isRemoved);
      told.splice(0);
      clock.pass(3000);
      // One of three has no place yet.
      expect(told).toEqual([keyText(KEY)]);
    },
  );

  it('is not made, nor its status written, while the resource itself is being removed', async () => {
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
