import { beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../local/run-vmcp.ts';
import { IMAGES } from './images.ts';
import { backend, condition, group, server, type Stage } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const MEMORY = '/app/node_modules/@modelcontextprotocol/server-memory/dist/index.js';
const ENTITY = { name: 'vmcp', entityType: 'thing', observations: ['größe'] };

interface Pod {
  metadata: { name: string };
  spec: { volumes: object[]; serviceAccountName: string };
  status: { containerStatuses?: { name: string; restartCount: number; ready: boolean }[] };
}

/** Applies a server with one backend: the memory server of npm, started in this way. */
async function serveMemory(stage: Stage, how: object): Promise<void> {
  const env = [{ name: 'MEMORY_FILE_PATH', value: '/tmp/memory.json' }];
  await stage.apply(
    group('tools'),
    backend('memory', { groupRef: 'tools', image: IMAGES.backends, env, ...how }),
    server('demo', 'tools'),
  );
  await stage.ready('demo', 90_000);
}

describeWithCluster('a backend on standard input and output', (cluster) => {
  const stage = useStage(cluster, 'stdio');
  beforeAll(() => serveMemory(stage, { command: ['node', MEMORY] }), 120_000);

  const pods = async () => (await stage.list('Pod', 'app.kubernetes.io/name=mcp-backend')) as unknown as Pod[];

  it('serves its own tool names through the bridge in its pod', async () => {
    const client = await stage.connect('demo');
    await eventually(
      () => client.toolNames(),
      (names) => names.includes('memory_create_entities'),
    );
    await client.call('memory_create_entities', { entities: [ENTITY] });
    expect((await client.call('memory_read_graph', {})).text).toContain('größe');
  });

  it('needs no permission, and its pod has no token', async () => {
    const [pod] = await pods();
    expect(JSON.stringify(pod?.spec.volumes)).not.toContain('serviceAccountToken');
    const subject = `system:serviceaccount:${stage.namespace.name}:${pod?.spec.serviceAccountName ?? ''}`;
    const { stdout } = await cluster.kubectl([
      '-n',
      stage.namespace.name,
      'auth',
      'can-i',
      'get',
      'pods',
      '--as',
      subject,
    ]);
    expect(stdout.trim()).toBe('no');
    await stage.status('MCPServer', 'memory', ({ phase }) => phase === 'Ready');
  });

  it('writes none of its answers to the log of the container', async () => {
    const [pod] = await pods();
    const log = ['-n', stage.namespace.name, 'logs', pod?.metadata.name ?? '', '-c'];
    const said = await Promise.all(['mcp', 'bridge'].map((name) => cluster.kubectl([...log, name])));
    expect(said.map(({ code }) => code)).toEqual([0, 0]);
    expect(said.map(({ stdout }) => stdout).join()).not.toContain('größe');
  });

  it('restarts when its input ends, and keeps serving open sessions', async () => {
    const client = await stage.connect('demo');
    await client.call('memory_create_entities', { entities: [ENTITY] });
    const [before] = await pods();
    const run = ['-n', stage.namespace.name, 'exec', before?.metadata.name ?? '', '-c', 'bridge', '--'];
    expect((await cluster.kubectl([...run, 'killall', 'dd'])).code).toBe(0);
    await eventually(
      async () => (await pods())[0]?.status.containerStatuses?.find(({ name }) => name === 'mcp'),
      (status) => (status?.restartCount ?? 0) > 0 && status?.ready === true,
      60_000,
    );
    const text = await eventually(
      async () => (await client.call('memory_read_graph', {})).text,
      (answer) => answer.includes('größe'),
      60_000,
    );
    expect(text).toContain('größe');
  }, 130_000);
});

describeWithCluster('a backend on standard input and output without a named program', (cluster) => {
  const stage = useStage(cluster, 'attach', '--stdio-attach');
  // The test image has no entrypoint, so its arguments name the program.
  beforeAll(() => serveMemory(stage, { transport: 'stdio', args: ['node', MEMORY] }), 120_000);

  it('serves its tools through a bridge that attaches to it', async () => {
    const client = await stage.connect('demo');
    await eventually(
      () => client.toolNames(),
      (names) => names.includes('memory_create_entities'),
    );
    const many = Array.from({ length: 200 }, (_, index) => ({ ...ENTITY, name: `entity-${index}` }));
    await client.call('memory_create_entities', { entities: many });
    const { text } = await client.call('memory_read_graph', {});
    expect(text).toContain('entity-199');
  });

  it('may only attach to its own pod', async () => {
    const account = { user: `system:serviceaccount:${stage.namespace.name}:mcp-memory` };
    const may = async (verb: string, resource: string, subresource = '', name = '') => {
      const resourceAttributes = { namespace: stage.namespace.name, verb, resource, subresource, name };
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' };
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      const { body } = await cluster.ask('POST', path, { ...review, spec: { ...account, resourceAttributes } });
      return (body as { status: { allowed: boolean } }).status.allowed;
    };
    expect(await may('get', 'pods', 'attach', 'mcp-memory-0')).toBe(true);
    expect(await may('create', 'pods', 'attach', 'mcp-memory-0')).toBe(true);
    const other = (await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime'))[0]?.metadata.name ?? '';
    expect(await may('create', 'pods', 'attach', other)).toBe(false);
    expect(await may('create', 'pods', 'exec', 'mcp-memory-0')).toBe(false);
    expect(await may('get', 'pods', '', 'mcp-memory-0')).toBe(false);
    expect(await may('get', 'secrets', '', 'vmcp-demo-credentials')).toBe(false);
  });

  it('has the token in the bridge’s container only, and a condition says that the log has its answers', async () => {
    const pod = (await stage.get('Pod', 'mcp-memory-0')) as unknown as {
      spec: { containers: { name: string; volumeMounts: { name: string }[] }[] };
    };
    const holders = pod.spec.containers.filter(({ volumeMounts }) =>
      volumeMounts.some(({ name }) => name === 'bridge-token'),
    );
    expect(holders.map(({ name }) => name)).toEqual(['bridge']);
    const status = await stage.status('MCPServer', 'memory', ({ phase }) => phase === 'Ready');
    expect(condition(status, 'StdoutIsLogged')).toMatchObject({ status: 'True', reason: 'Attached' });
    const { stdout } = await cluster.kubectl(['-n', stage.namespace.name, 'logs', 'mcp-memory-0', '-c', 'mcp']);
    expect(stdout).toContain('"jsonrpc"');
  });

  it('returns with its pod', async () => {
    const client = await stage.connect('demo');
    const before = (await stage.get('Pod', 'mcp-memory-0'))?.metadata.uid;
    await stage.remove('Pod', 'mcp-memory-0');
    await eventually(
      async () => (await stage.get('Pod', 'mcp-memory-0'))?.metadata.uid ?? before,
      (uid) => uid !== before,
      60_000,
    );
    await eventually(
      async () => (await client.call('memory_read_graph', {})).text,
      (text) => text.includes('\\"entities\\": []'),
      90_000,
    );
  });
});
