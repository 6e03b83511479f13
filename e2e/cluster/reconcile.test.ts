import { beforeAll, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { followTools } from '../gateway/follow-tools.ts';
import { eventually } from '../local/run-vmcp.ts';
import { backend, condition, fake, group, type ObservedObject, type Seen, server } from './stage.ts';
import { startLoad } from './load.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const CHILDREN = ['ConfigMap', 'Secret', 'Service', 'ServiceAccount', 'Deployment', 'NetworkPolicy', 'ReplicaSet'];
const OWN = ['VirtualMCPServer', 'MCPServer', 'MCPGroup'];

describeWithCluster('the reconciliation of resources', (cluster) => {
  const stage = useStage(cluster, 'reconcile');
  const snapshot = async (kinds: string[]) => {
    const all = (await Promise.all(kinds.map((kind) => stage.list(kind)))).flat();
    return all.map(({ kind, metadata }) => `${kind}/${metadata.name} ${metadata.uid}`).sort();
  };
  const owned = (live: ObservedObject | undefined) =>
    live?.metadata.ownerReferences?.map(({ kind, name }) => `${kind}/${name}`);

  beforeAll(async () => {
    await stage.apply(
      group('tools'),
      group('others'),
      backend('one', fake('tools', 'backend', ['--name', 'one', '--tools', '2'])),
      server('demo', 'tools'),
    );
    await stage.ready('demo');
  });

  it('sends Events at a first start, and no Warning', async () => {
    // The referring resource exists before the referred one.
    await stage.apply(server('first', 'late'));
    await stage.apply(backend('late', fake('late', 'backend', ['--name', 'late', '--tools', '1'])), group('late'));
    await stage.ready('first');
    const events = async () => {
      const all = (await stage.list('Event')) as unknown as {
        type: string;
        reason: string;
        involvedObject: { name: string; apiVersion: string };
      }[];
      return all.filter(({ involvedObject }) => involvedObject.apiVersion.startsWith('vmcp.dev/'));
    };
    // The operator sends the Event after the status.
    const ours = await eventually(events, (now) =>
      now.some(({ reason, involvedObject }) => involvedObject.name === 'first' && reason === 'AllBackendsReady'),
    );
    // The resources of this suite cause these lasting warnings on purpose.
    const advice = ['NoAccessControl', 'SessionsInMemory'];
    expect(ours.filter(({ type, reason }) => type === 'Warning' && !advice.includes(reason))).toEqual([]);
    await stage.remove('VirtualMCPServer', 'first');
    await stage.remove('MCPServer', 'late');
    await stage.remove('MCPGroup', 'late');
  });

  it('serves all tools as soon as kubectl wait returns', async () => {
    const members = ['x', 'y', 'z'].map((name) =>
      backend(name, fake('waited', 'backend', ['--name', name, '--tools', '3'])),
    );
    await stage.apply(server('waited', 'waited'), group('waited'), ...members);
    const { code, stderr } = await cluster.kubectl([
      ...['-n', stage.namespace.name, 'wait', 'virtualmcpservers.vmcp.dev/waited'],
      ...['--for=condition=Ready', '--timeout=120s'],
    ]);
    expect([code, stderr]).toEqual([0, '']);
    const client = await stage.connect('waited');
    expect(await client.toolNames()).toHaveLength(9);
    const { status } = (await stage.get('VirtualMCPServer', 'waited')) ?? {};
    expect(condition(status, 'AllBackendsReady')).toMatchObject({ status: 'True' });
    await stage.remove('VirtualMCPServer', 'waited');
    for (const name of ['x', 'y', 'z']) await stage.remove('MCPServer', name);
    await stage.remove('MCPGroup', 'waited');
  }, 180_000);

  it('gives every child an owner, and deletes it with its resource', async () => {
    await stage.apply(server('short-lived', 'others'));
    const made = await eventually(
      async () =>
        Promise.all(['Deployment', 'Service', 'ServiceAccount'].map((kind) => stage.get(kind, 'vmcp-short-lived'))),
      (found) => found.every((live) => live !== undefined),
    );
    expect(made.map(owned)).toEqual(made.map(() => ['VirtualMCPServer/short-lived']));
    for (const name of ['credentials', 'sealing']) {
      expect(owned(await stage.get('Secret', `vmcp-short-lived-${name}`))).toEqual(['VirtualMCPServer/short-lived']);
    }
    await stage.remove('VirtualMCPServer', 'short-lived');
    await eventually(
      () => snapshot(CHILDREN),
      (left) => !left.some((text) => text.includes('short-lived')),
      30_000,
    );
  });

  it('recreates all children of a resource that is deleted and applied again at once, and keeps none of the former', async () => {
    await stage.apply(server('again', 'tools'));
    await stage.ready('again');
    const former = await stage.get('Secret', 'vmcp-again-sealing');
    await stage.remove('VirtualMCPServer', 'again');
    await stage.apply(server('again', 'tools'));
    await stage.ready('again');
    const { uid } = (await stage.get('VirtualMCPServer', 'again'))?.metadata ?? {};
    const kinds = ['ConfigMap', 'Secret', 'Service', 'ServiceAccount', 'Deployment'];
    const children = (await Promise.all(kinds.map((kind) => stage.list(kind)))).flat();
    const ofBoth = children.filter(({ metadata }) => metadata.name.includes('vmcp-again'));
    expect(ofBoth.length).toBeGreaterThanOrEqual(7);
    expect(new Set(ofBoth.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid))).toEqual(new Set([uid]));
    const sealing = await stage.get('Secret', 'vmcp-again-sealing');
    expect(sealing?.data?.sealing).not.toBe(former?.data?.sealing);
    await stage.remove('VirtualMCPServer', 'again');
  });

  it('notifies clients of backends that come, break, recover, move and go, on their open stream', async () => {
    const client = await stage.connect('demo');
    const stream = await client.stream();
    const knows = await followTools(stream, () => client.toolNames(), 30_000);
    const two = (group: string, spec: object = {}) =>
      stage.apply(backend('two', { ...fake(group, 'backend', ['--name', 'two', '--tools', '1']), ...spec }));
    const alone = ['one_tool_0', 'one_tool_1'];
    for (const [change, tools] of [
      [() => two('tools'), ['two_tool_0']],
      [() => two('tools', { suspend: true }), []],
      [() => two('tools', { suspend: false }), ['two_tool_0']],
      [() => two('others'), []],
      [() => two('tools'), ['two_tool_0']],
      [() => stage.remove('MCPServer', 'two'), []],
    ] as const) {
      await change();
      await knows(...alone, ...tools);
    }
    stream.close();
    await stage.ready('demo');
  }, 150_000);

  it('names a broken backend in the status, and updates it after recovery', async () => {
    await stage.patch('VirtualMCPServer', 'demo', {
      spec: {
        config: {
          operational: {
            failureHandling: { healthCheckInterval: '1s', unhealthyThreshold: 1, statusReportingInterval: '1s' },
          },
        },
      },
    });
    await stage.ready('demo');
    await stage.apply(
      backend('one', { ...fake('tools', 'backend', ['--name', 'one', '--tools', '2']), backendReplicas: 0 }),
    );
    const broken = await stage.status('VirtualMCPServer', 'demo', ({ phase }) => phase === 'Degraded', 60_000);
    expect(broken.backends?.find(({ name }) => name === 'one')?.phase).toBe('Unavailable');
    expect(condition(broken, 'Ready')?.message).toContain('one (Unavailable)');
    await stage.apply(backend('one', fake('tools', 'backend', ['--name', 'one', '--tools', '2'])));
    await stage.ready('demo');
    const events = await stage.list('Event');
    const reasons = events.map((event) => (event as unknown as { reason: string }).reason);
    expect(reasons).toEqual(expect.arrayContaining(['AllBackendsReady', 'RuntimeNotReady']));
  }, 150_000);

  it('keeps serving after an invalid edit, reports it, and starts nothing; also with a new operator', async () => {
    const load = await startLoad(await stage.endpoint('demo'), 'one_tool_0', { sessions: 2 });
    const incomingAuth = { type: 'oidc', oidcConfigRef: { name: 'missing', audience: 'a' } };
    await stage.patch('VirtualMCPServer', 'demo', { spec: { incomingAuth } });
    await stage.apply(server('never-served', 'tools', { incomingAuth }));
    const isKept = (seen: Seen) => condition(seen, 'Ready')?.reason === 'OidcConfigNotFound';
    const kept = await stage.status('VirtualMCPServer', 'demo', isKept);
    expect([kept.phase, condition(kept, 'Ready')?.message]).toEqual([
      'Degraded',
      'incomingAuth.oidcConfigRef names MCPOIDCConfig "missing", which does not exist: create it',
    ]);
    await stage.restart();
    await pause(3000);
    expect((await stage.status('VirtualMCPServer', 'demo', isKept)).phase).toBe('Degraded');
    expect(await stage.get('Deployment', 'vmcp-never-served')).toBeUndefined();
    await stage.remove('VirtualMCPServer', 'never-served');
    await stage.patch('VirtualMCPServer', 'demo', {
      spec: { incomingAuth: { type: 'anonymous', oidcConfigRef: null } },
    });
    await stage.ready('demo');
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  it('restores children that others change or remove', async () => {
    await stage.remove('Service', 'vmcp-demo');
    await stage.patch('Deployment', 'vmcp-demo', {
      spec: { template: { spec: { terminationGracePeriodSeconds: 7 } } },
    });
    await stage.patch('ConfigMap', 'vmcp-demo-v0.1.0', { data: { 'run-config.yaml': 'forged: true' } });
    const isRight = async () => {
      const text = (await stage.get('ConfigMap', 'vmcp-demo-v0.1.0'))?.data?.['run-config.yaml'] ?? '';
      const deployment = JSON.stringify((await stage.get('Deployment', 'vmcp-demo'))?.spec);
      const there = (await stage.get('Service', 'vmcp-demo')) !== undefined;
      return there && text.startsWith('schema_version') && !deployment.includes('"terminationGracePeriodSeconds":7');
    };
    await eventually(isRight, (right) => right, 20_000);
    await stage.ready('demo');
  });

  it('never adopts a foreign object of that name, and reports it in the status', async () => {
    await cluster.kubectl(['-n', stage.namespace.name, 'create', 'service', 'clusterip', 'vmcp-guest', '--tcp=80:80']);
    const foreign = await stage.get('Service', 'vmcp-guest');
    await stage.apply(server('guest', 'tools'));
    const status = await stage.status('VirtualMCPServer', 'guest', (seen) => condition(seen, 'Stalled') !== undefined);
    expect(condition(status, 'Stalled')).toMatchObject({ status: 'True', reason: 'ChildNotOurs' });
    expect(condition(status, 'Stalled')?.message).toContain('Service "vmcp-guest" is already there');
    const now = await stage.get('Service', 'vmcp-guest');
    expect([now?.metadata.uid, now?.metadata.resourceVersion]).toEqual([
      foreign?.metadata.uid,
      foreign?.metadata.resourceVersion,
    ]);
    await stage.remove('Service', 'vmcp-guest');
    await stage.patch('VirtualMCPServer', 'guest', { metadata: { annotations: { look: 'again' } } });
    await stage.ready('guest');
    await stage.remove('VirtualMCPServer', 'guest');
  });

  it('removes unwanted children, and nothing else', async () => {
    const policies = async () => (await stage.list('NetworkPolicy')).map(({ metadata }) => metadata.name);
    await eventually(policies, (names) => names.includes('vmcp-demo'));
    await cluster.kubectl(['-n', stage.namespace.name, 'create', 'configmap', 'bystander', '--from-literal=a=b']);
    await stage.patch('VirtualMCPServer', 'demo', { spec: { networkPolicy: { enabled: false } } });
    await eventually(policies, (names) => !names.includes('vmcp-demo'));
    expect(await stage.get('ConfigMap', 'bystander')).toBeDefined();
    await stage.ready('demo');
  });

  it('lets kubectl scale stop a server, and start it again', async () => {
    const scale = (replicas: number) =>
      cluster.kubectl([
        '-n',
        stage.namespace.name,
        'scale',
        'virtualmcpservers.vmcp.dev/demo',
        `--replicas=${replicas}`,
      ]);
    expect((await scale(0)).stderr).toBe('');
    const stopped = await stage.status(
      'VirtualMCPServer',
      'demo',
      (seen) => condition(seen, 'Ready')?.reason === 'ScaledToZero',
    );
    expect(condition(stopped, 'Ready')?.message).toBe('It is stopped: write replicas 1 or more to serve it.');
    const isSettled = (live: ObservedObject | undefined) =>
      live?.status?.observedGeneration === live?.metadata.generation;
    await eventually(() => stage.get('VirtualMCPServer', 'demo'), isSettled);
    expect((await scale(1)).code).toBe(0);
    await stage.ready('demo');
  });

  it('keeps a document of an older schema while a pod mounts it, and then deletes it', async () => {
    const owner = await stage.get('VirtualMCPServer', 'demo');
    const older = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'vmcp-demo-v0.0.9',
        labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' },
        ownerReferences: [
          {
            apiVersion: 'vmcp.dev/v1alpha1',
            kind: 'VirtualMCPServer',
            name: 'demo',
            uid: owner?.metadata.uid,
            controller: true,
          },
        ],
      },
      data: { 'run-config.yaml': 'schema_version: v0.0.9' },
    };
    await stage.apply(older);
    await eventually(
      () => stage.get('ConfigMap', 'vmcp-demo-v0.0.9'),
      (live) => live === undefined,
    );
    await stage.restart(`--sidecars-of=${stage.namespace.name}/demo`);
    const volumes = [{ name: 'older', configMap: { name: 'vmcp-demo-v0.0.9', optional: true } }];
    await stage.patch('VirtualMCPServer', 'demo', { spec: { podTemplateSpec: { spec: { volumes } } } });
    await stage.ready('demo');
    await stage.apply(older);
    await stage.patch('VirtualMCPServer', 'demo', { metadata: { annotations: { look: 'again' } } });
    await pause(2000);
    expect(await stage.get('ConfigMap', 'vmcp-demo-v0.0.9')).toBeDefined();
    await stage.patch('VirtualMCPServer', 'demo', { spec: { podTemplateSpec: null } });
    await eventually(
      () => stage.get('ConfigMap', 'vmcp-demo-v0.0.9'),
      (live) => live === undefined,
      60_000,
    );
    await stage.ready('demo');
  }, 150_000);

  it('finds its children after a kill and restart: it creates nothing, replaces no pod, fails no call', async () => {
    const load = await startLoad(await stage.endpoint('demo'), 'one_tool_0', { sessions: 2 });
    const before = await snapshot([...CHILDREN, ...OWN, 'Pod']);
    process.kill(stage.operator.pid, 'SIGKILL');
    await stage.operator.ended;
    // While no operator runs, a child is deleted and a backend is added.
    await stage.remove('Service', 'metrics-vmcp-demo');
    await stage.start();
    await eventually(
      () => stage.get('Service', 'metrics-vmcp-demo'),
      (live) => live !== undefined,
      20_000,
    );
    await stage.ready('demo');
    const after = await snapshot([...CHILDREN, ...OWN, 'Pod']);
    const known = (lines: string[]) => lines.filter((line) => !/metrics-vmcp-demo|vmcp-guest/.test(line));
    expect(known(after)).toEqual(known(before));
    await load.stop();
    expect(load.failures).toEqual([]);
  });
});
