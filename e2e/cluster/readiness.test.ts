import { beforeAll, expect, it } from '@jest/globals';
import { backend, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const MINUTES = 60_000;
const PODS = 3;
/** Its pods come one after the other, some seconds apart. */
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

describeWithCluster('Ready, as kubectl waits for it,', (cluster) => {
  const stage = useStage(cluster, 'readiness');

  /** What its Deployment says at the moment at which the wait is over. */
  async function waitFor(resource: string, deployment: string): Promise<Rolling> {
    const args = ['wait', resource, '--for=condition=Ready', '--timeout=100s', '-n', stage.namespace.name];
    const { code, stderr } = await cluster.kubectl(args);
    expect([code, stderr]).toEqual([0, '']);
    const { replicas, updatedReplicas, availableReplicas } = (await stage.get('Deployment', deployment))!
      .status as Rolling;
    return { replicas, updatedReplicas, availableReplicas };
  }
  const all = (pods: number) => ({ replicas: pods, updatedReplicas: pods, availableReplicas: pods });

  beforeAll(async () => {
    const program = { ...fake('tools', 'backend'), command: ['node', '--input-type=module', '-e', PROGRAM] };
    await stage.apply(group('tools'), backend('plain', { ...program, backendReplicas: PODS }), server('demo', 'tools'));
  }, MINUTES);

  it(
    'comes for the first time with all pods',
    async () => {
      expect(await waitFor('mcpservers.vmcp.dev/plain', 'mcp-plain')).toEqual(all(PODS));
      expect(await waitFor('virtualmcpservers.vmcp.dev/demo', 'vmcp-demo')).toEqual(all(1));
    },
    4 * MINUTES,
  );

  it(
    'comes of a program that changed when every pod has the change',
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
    'comes of a program that is started anew by its annotation when every pod is, and the status says of which moment',
    async () => {
      const running = async () => {
        const pods = await stage.list('Pod', 'app.kubernetes.io/name=mcp-backend');
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
    'comes of a server whose pods are replaced when they are',
    async () => {
      await stage.patch('VirtualMCPServer', 'demo', { spec: { resources: { requests: { cpu: '11m' } } } });
      expect(await waitFor('virtualmcpservers.vmcp.dev/demo', 'vmcp-demo')).toEqual(all(1));
      const { spec } = (await stage.get('Deployment', 'vmcp-demo'))!;
      expect(JSON.stringify(spec)).toContain('"cpu":"11m"');
    },
    2 * MINUTES,
  );
});
