import { beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../local/run-vmcp.ts';
import { ElectedOperators } from '../elected-operators.ts';
import { startLoad, underLoad, untilAllGoOn } from '../load.ts';
import { backend, fake, group, server } from '../stage.ts';
import { startRedisPod } from '../start-redis-pod.ts';
import { describeWithOwnCluster } from '../use-own-cluster.ts';
import { useStage } from '../use-stage.ts';

const RUNTIME = 'app.kubernetes.io/name=vmcp-runtime';
const REPLICAS = 2;
const MINUTES = 60_000;
/** Long enough for a backoff that ignores the reason of a failure to grow long. */
const AWAY_MS = 12_000;
/** Limit from an accepted edit to its document, on a busy machine. */
const SOON_MS = 10_000;

describeWithOwnCluster('a cluster with faults', (cluster, own) => {
  const stage = useStage(cluster, 'faults');

  const pods = async () =>
    (await stage.list('Pod', RUNTIME)) as unknown as {
      metadata: { name: string; uid: string };
      spec: { nodeName: string };
      status: { containerStatuses?: { ready: boolean; restartCount: number }[] };
    }[];
  const isRestarted = ({ status }: Awaited<ReturnType<typeof pods>>[number]) =>
    status.containerStatuses?.some(({ ready, restartCount }) => ready && restartCount > 0) ?? false;
  const children = async () =>
    (
      await Promise.all(
        ['Deployment', 'Service', 'ConfigMap', 'Secret', 'ServiceAccount'].map((kind) => stage.list(kind)),
      )
    )
      .flat()
      .filter(({ metadata }) => metadata.ownerReferences !== undefined)
      .map(({ kind, metadata }) => `${kind}/${metadata.name}/${metadata.uid}`)
      .sort();
  /** kubectl also reports, as an error, an eviction that waits for another pod of the same disruption budget. */
  const SAID = /^(Warning|error when evicting .* \(will retry after ).*\n?/gm;
  const kubectl = async (...args: string[]) => {
    const { code, stderr } = await cluster.kubectl(['-n', stage.namespace.name, ...args]);
    expect([code, stderr.replaceAll(SAID, '')]).toEqual([0, '']);
  };

  beforeAll(async () => {
    const address = await startRedisPod(cluster, stage.namespace.name);
    await stage.apply(
      group('tools'),
      backend('plain', { ...fake('tools', 'backend', ['--name', 'plain', '--tools', '1']), backendReplicas: 1 }),
      server('demo', 'tools', { replicas: REPLICAS, sessionStorage: { provider: 'redis', address } }),
    );
    await stage.ready('demo', 2 * MINUTES);
    await kubectl('rollout', 'status', 'deployment/vmcp-demo', '--timeout=55s');
  }, 4 * MINUTES);

  const loaded = async (work: () => Promise<void>) =>
    (await underLoad(await stage.endpoint('demo'), 'plain_tool_0', work)).failures;

  /** Edits the server as soon as the API server accepts it, and waits for its document within the limit. */
  async function takesEffect(header: string): Promise<void> {
    const edit = () => stage.patch('VirtualMCPServer', 'demo', { spec: { passthroughHeaders: [header] } });
    const isTaken = () =>
      edit().then(
        () => true,
        () => false,
      );
    await eventually(isTaken, Boolean, MINUTES);
    const document = async () => (await stage.get('ConfigMap', 'vmcp-demo-v0.1.0'))?.data?.['run-config.yaml'] ?? '';
    await eventually(document, (text) => text.includes(header), SOON_MS);
  }

  // This test runs first: after an outage of the API server, the scheduler may take half a minute to learn of a
  // cordoned node.
  it(
    'moves the pod of a drained node within the disruption budget, and no call fails',
    async () => {
      const [first] = await pods();
      const node = first?.spec.nodeName ?? '';
      const failures = await loaded(async () => {
        try {
          const only = ['--pod-selector', `${RUNTIME},app.kubernetes.io/instance=demo`];
          await kubectl('drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=55s', ...only);
          await eventually(
            pods,
            (now) => now.length === REPLICAS && now.every(({ spec }) => spec.nodeName !== node),
            MINUTES,
          );
          await kubectl('rollout', 'status', 'deployment/vmcp-demo', '--timeout=55s');
        } finally {
          await kubectl('uncordon', node);
        }
      });
      expect(failures).toEqual([]);
    },
    4 * MINUTES,
  );

  it.each(['apiserver', 'etcd', 'controller-manager'] as const)(
    'loses its %s for a while: no call fails, nothing is lost or doubled, and an edit made then takes effect',
    async (name) => {
      const [before, made] = [await pods(), await children()];
      const failures = await loaded(async () => {
        await own.restart(name, AWAY_MS);
        await takesEffect(`x-after-${name}`);
        const tools = ({ toolCount }: { toolCount?: number }, count: number) => toolCount === count;
        const args = ['--name', 'more', '--tools', '1'];
        await eventually(
          () =>
            stage.apply(backend('more', fake('tools', 'backend', args))).then(
              () => true,
              () => false,
            ),
          Boolean,
          MINUTES,
        );
        await stage.status('VirtualMCPServer', 'demo', (status) => tools(status, 2), 2 * MINUTES);
        await stage.remove('MCPServer', 'more');
        await stage.status('VirtualMCPServer', 'demo', (status) => tools(status, 1), 2 * MINUTES);
      });
      expect(failures).toEqual([]);
      expect((await pods()).map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
      await eventually(children, (now) => JSON.stringify(now) === JSON.stringify(made), MINUTES);
    },
    5 * MINUTES,
  );

  it(
    'replaces the leader when the API server is away longer than the Lease lasts, and an edit takes effect',
    async () => {
      const [before, made] = [await pods(), await children()];
      const operators = new ElectedOperators(cluster, () => stage.namespace.name);
      await stage.operator.stop();
      try {
        const [leader, other] = await operators.startTwo();
        const failures = await loaded(async () => {
          await own.restart('apiserver', AWAY_MS);
          expect(await leader.ended).toBe(1);
          expect(leader.output()).toContain('the Lease is lost');
          expect(await operators.leader()).toBe(other);
          await takesEffect('x-after-election');
        });
        expect(failures).toEqual([]);
        expect((await pods()).map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
        await eventually(children, (now) => JSON.stringify(now) === JSON.stringify(made), MINUTES);
      } finally {
        await operators.stop();
        await stage.start();
      }
    },
    4 * MINUTES,
  );

  it(
    'cuts at most one call of each session when a pod is killed, and the other pod continues all sessions',
    async () => {
      const [[victim], made] = [await pods(), await children()];
      const { sessions } = await underLoad(await stage.endpoint('demo'), 'plain_tool_0', async (load) => {
        own.killPod(victim?.metadata.name ?? '');
        await untilAllGoOn(load, 20);
        const again = (now: Awaited<ReturnType<typeof pods>>) =>
          now.some((pod) => pod.metadata.name === victim?.metadata.name && isRestarted(pod));
        await eventually(pods, again, 2 * MINUTES);
      });
      // Until the cluster notices, the Service sends connections to the dead pod. They are refused before any call.
      const cut = sessions.map(({ failures }) => failures.filter((why) => !why.includes('ECONNREFUSED')));
      for (const failures of cut) {
        expect(failures.slice(1)).toEqual([]);
        for (const why of failures) expect(why).toMatch(/ECONNRESET|socket hang up/);
      }
      expect(await children()).toEqual(made);
    },
    4 * MINUTES,
  );

  it(
    'restores the pods of a node that dies and comes back',
    async () => {
      const [first] = await pods();
      const node = first?.spec.nodeName ?? '';
      await own.killNode(node);
      own.startNode(node);
      const works = async () => {
        const again = await startLoad(await stage.endpoint('demo'), 'plain_tool_0', { sessions: 2 });
        await eventually(
          () => again.answers.length + again.failures.length,
          (count) => count > 20,
          MINUTES,
        );
        await again.stop();
        return again.failures;
      };
      await eventually(
        () => works().catch(String),
        (failures) => failures.length === 0,
        3 * MINUTES,
      );
      await stage.ready('demo', 2 * MINUTES);
    },
    6 * MINUTES,
  );
});
