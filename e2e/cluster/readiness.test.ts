import { beforeAll, expect, it } from '@jest/globals';
import { backend, condition, fake, group, type Seen, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const MINUTES = 60_000;
const PODS = 3;
/** Milliseconds that a server waits for the first list of a member with pods of the cluster. */
const FIRST_DEADLINE = 60_000;
/** A server that hangs on the first request of either kind of client: `initialize` and `server/discover`. */
const HANGS = ['--behaviour', 'hang', '--method', 'initialize', '--method', 'server/discover'];
/** Its pods start one after the other, some seconds apart. */
const PROGRAM = `
  import { hostname } from 'node:os';
  const order = [...hostname()].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7) % 10;
  await new Promise((resolve) => setTimeout(resolve, order * 700));
  process.argv.push('--port', '8080', '--name', 'plain', '--tools', '1');
  await import('/app/e2e/fakes/backend/main.ts');
`;

interface Rolling {
  replicas?: number | undefined;
  updatedReplicas?: number | undefined;
  availableReplicas?: number | undefined;
}

interface RunningPod {
  status: { containerStatuses: { state: { running: { startedAt: string } } }[] };
}

describeWithCluster('Ready, as kubectl waits for it,', (cluster) => {
  const stage = useStage(cluster, 'readiness');

  /** Returns the status of the Deployment at the moment when the wait ends. */
  async function waitFor(resource: string, deployment: string): Promise<Rolling> {
    const args = ['wait', resource, '--for=condition=Ready', '--timeout=100s', '-n', stage.namespace.name];
    const { code, stderr } = await cluster.kubectl(args);
    expect([code, stderr]).toEqual([0, '']);
    const { replicas, updatedReplicas, availableReplicas } = (await stage.get('Deployment', deployment))!
      .status as Rolling;
    return { replicas, updatedReplicas, availableReplicas };
  }
  let withOneThatHangs: ReturnType<typeof firstSeen>;
  /** Returns the tools and the status of a server at the moment when kubectl sees Ready. */
  async function firstSeen(name: string): Promise<{ tools: string[]; status: Seen | undefined }> {
    await waitFor(`virtualmcpservers.vmcp.dev/${name}`, `vmcp-${name}`);
    const client = await stage.connect(name);
    const tools = (await client.toolNames()).sort();
    return { tools, status: (await stage.get('VirtualMCPServer', name))?.status };
  }
  /** Returns the time at which the runtime of a server started. */
  async function startOf(name: string): Promise<number> {
    const labels = `app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=${name}`;
    const [pod] = (await stage.list('Pod', labels)) as unknown as RunningPod[];
    return Date.parse(pod?.status.containerStatuses[0]?.state.running.startedAt ?? '');
  }
  const all = (pods: number) => ({ replicas: pods, updatedReplicas: pods, availableReplicas: pods });

  beforeAll(async () => {
    const program = { ...fake('tools', 'backend'), command: ['node', '--input-type=module', '-e', PROGRAM] };
    await stage.apply(group('tools'), backend('plain', { ...program, backendReplicas: PODS }), server('demo', 'tools'));
    const member = (name: string, args: string[] = []) =>
      backend(name, fake('mixed', 'backend', ['--name', name, '--tools', '2', ...args]));
    await stage.apply(group('mixed'), member('one'), member('two'), member('hangs', HANGS), server('mixed', 'mixed'));
    // The first deadline of the member passes during the other tests; the last one awaits the result.
    withOneThatHangs = firstSeen('mixed');
    withOneThatHangs.catch(() => undefined);
  }, MINUTES);

  it(
    'becomes true for the first time with all pods',
    async () => {
      expect(await waitFor('mcpservers.vmcp.dev/plain', 'mcp-plain')).toEqual(all(PODS));
      expect(await waitFor('virtualmcpservers.vmcp.dev/demo', 'vmcp-demo')).toEqual(all(1));
    },
    4 * MINUTES,
  );

  it(
    'becomes true after a change of a program when every pod has the change',
    async () => {
      await stage.patch('MCPServer', 'plain', {
        spec: {
          env: [
            { name: 'HOST', value: '::' },
            { name: 'NEW', value: 'x' },
          ],
        },
      });
      expect(await waitFor('mcpservers.vmcp.dev/plain', 'mcp-plain')).toEqual(all(PODS));
    },
    2 * MINUTES,
  );

  it(
    'becomes true after a restart by annotation when every pod is new, and the status has its time',
    async () => {
      const running = async () => {
        const pods = await stage.list('Pod', 'app.kubernetes.io/name=mcp-backend,app.kubernetes.io/instance=plain');
        return pods.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? metadata.uid : []));
      };
      const before = await running();
      const at = new Date().toISOString();
      await stage.patch('MCPServer', 'plain', { metadata: { annotations: { 'vmcp.dev/restarted-at': at } } });
      await stage.status('MCPServer', 'plain', ({ restartedAt }) => restartedAt === at, 2 * MINUTES);
      expect(await waitFor('mcpservers.vmcp.dev/plain', 'mcp-plain')).toEqual(all(PODS));
      expect((await running()).filter((uid) => before.includes(uid))).toEqual([]);
    },
    3 * MINUTES,
  );

  it(
    'becomes true after a replacement of a server’s pods when all are replaced',
    async () => {
      await stage.patch('VirtualMCPServer', 'demo', { spec: { resources: { requests: { cpu: '11m' } } } });
      expect(await waitFor('virtualmcpservers.vmcp.dev/demo', 'vmcp-demo')).toEqual(all(1));
      const { spec } = (await stage.get('Deployment', 'vmcp-demo'))!;
      expect(JSON.stringify(spec)).toContain('"cpu":"11m"');
    },
    2 * MINUTES,
  );

  it(
    'becomes true with all tools of the others after the first deadline of a hanging member',
    async () => {
      const { tools, status } = await withOneThatHangs;
      expect(tools).toEqual(['one_tool_0', 'one_tool_1', 'two_tool_0', 'two_tool_1']);
      expect(condition(status, 'AllBackendsReady')).toMatchObject({
        status: 'False',
        reason: 'SomeBackendsNotReady',
        message: expect.stringContaining('not every backend is: hangs (Unavailable).'),
      });
      const hangs = status?.backends?.find(({ name }) => name === 'hangs');
      expect(hangs?.message).toContain('did not answer in time');
      const ready = condition(status, 'Ready')!;
      expect(ready.status).toBe('True');
      // The operator sees the member later than the runtime, whose first deadline begins after its start.
      expect(Date.parse(ready.lastTransitionTime) - (await startOf('mixed'))).toBeGreaterThanOrEqual(FIRST_DEADLINE);
    },
    3 * MINUTES,
  );
});
