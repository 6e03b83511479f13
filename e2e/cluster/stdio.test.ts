import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { SessionClient } from '../gateway/session-client.ts';
import type { Program } from '../gateway/start-program.ts';
import { eventually } from '../local/run-vmcp.ts';
import { IMAGES } from './images.ts';
import { backend, group, installDefinitions, server, Stage } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const MEMORY = '/app/node_modules/@modelcontextprotocol/server-memory/dist/index.js';
const ENTITY = { name: 'vmcp', entityType: 'thing', observations: ['größe'] };

interface Pod {
  metadata: { name: string };
  spec: { volumes: object[]; serviceAccountName: string };
  status: { containerStatuses?: { name: string; restartCount: number; ready: boolean }[] };
}

describeWithCluster('an image on standard input and output', (cluster) => {
  let namespace: Namespace;
  let stage: Stage;
  let operator: Program;

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await cluster.makeNamespace('stdio');
    stage = new Stage(cluster, namespace);
    operator = startOperator(cluster, [namespace.name]);
    await stage.apply(
      group('tools'),
      backend('memory', {
        groupRef: 'tools',
        image: IMAGES.backends,
        command: ['node', MEMORY],
        env: [{ name: 'MEMORY_FILE_PATH', value: '/tmp/memory.json' }],
      }),
      server('demo', 'tools'),
    );
    await stage.ready('demo', 90_000).catch((error: unknown) => {
      throw new Error(operator.output(), { cause: error });
    });
  }, 150_000);
  afterAll(async () => {
    await operator.stop();
    await namespace.delete();
  });

  const connect = async () => {
    const { url, headers } = await stage.endpoint('demo');
    return SessionClient.open(url, headers);
  };
  const pods = async () => (await stage.list('Pod', 'app.kubernetes.io/name=mcp-backend')) as unknown as Pod[];

  it('is served by the bridge in its pod, under its own names', async () => {
    const client = await connect();
    expect(await client.toolNames()).toContain('memory_create_entities');
    await client.call('memory_create_entities', { entities: [ENTITY] });
    expect((await client.call('memory_read_graph', {})).text).toContain('größe');
  });

  it('needs no permission, and its pod has no token', async () => {
    const [pod] = await pods();
    expect(JSON.stringify(pod?.spec.volumes)).not.toContain('serviceAccountToken');
    const subject = `system:serviceaccount:${namespace.name}:${pod?.spec.serviceAccountName ?? ''}`;
    const { stdout } = await cluster.kubectl(['-n', namespace.name, 'auth', 'can-i', 'get', 'pods', '--as', subject]);
    expect(stdout.trim()).toBe('no');
    expect((await stage.get('MCPServer', 'memory'))?.status?.phase).toBe('Ready');
  });

  it('writes none of its answers to the log of the container', async () => {
    const [pod] = await pods();
    const log = ['-n', namespace.name, 'logs', pod?.metadata.name ?? '', '-c'];
    const said = await Promise.all(['mcp', 'bridge'].map((name) => cluster.kubectl([...log, name])));
    expect(said.map(({ code }) => code)).toEqual([0, 0]);
    expect(said.map(({ stdout }) => stdout).join()).not.toContain('größe');
  });

  it('is started again when its input ends, and serves the sessions that there are', async () => {
    const client = await connect();
    await client.call('memory_create_entities', { entities: [ENTITY] });
    const [before] = await pods();
    const run = ['-n', namespace.name, 'exec', before?.metadata.name ?? '', '-c', 'bridge', '--'];
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
