import { beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../local/run-vmcp.ts';
import { type Load, startLoad } from './load.ts';
import { startRedisPod } from './start-redis-pod.ts';
import { backend, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const RUNTIME = 'app.kubernetes.io/name=vmcp-runtime';
const REPLICAS = 2;
const MINUTES = 60_000;

describeWithCluster('two replicas with their sessions in Redis, under load', (cluster) => {
  const stage = useStage(cluster, 'updates');
  let load: Load;
  const podNames = async () => (await stage.list('Pod', RUNTIME)).map(({ metadata }) => metadata.name).sort();

  beforeAll(async () => {
    const address = await startRedisPod(cluster, stage.namespace.name);
    await stage.apply(
      group('tools'),
      backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
      server('demo', 'tools', {
        replicas: REPLICAS,
        sessionStorage: { provider: 'redis', address },
      }),
    );
    await stage.ready('demo', 2 * MINUTES);
    await settled();
  }, 4 * MINUTES);

  /** As many pods as wanted, all ready, none that goes. */
  async function settled(): Promise<string[]> {
    const args = ['-n', stage.namespace.name, 'rollout', 'status', 'deployment/vmcp-demo', '--timeout=50s'];
    const { code, stderr } = await cluster.kubectl(args);
    expect([code, stderr]).toEqual([0, '']);
    return eventually(podNames, (names) => names.length === REPLICAS, MINUTES);
  }

  /** Runs calls in four sessions while something is done, and some more when it is done; the sessions are never opened again. */
  async function underLoad(work: () => Promise<void>): Promise<void> {
    load = await startLoad(await stage.endpoint('demo'), 'plain_tool_0');
    try {
      const more = (calls: number) => {
        const goal = load.answers.length + calls;
        return eventually(
          () => load.answers.length + load.failures.length,
          (now) => now >= goal,
          MINUTES,
        );
      };
      await more(20);
      await work();
      await more(40);
    } finally {
      await load.stop();
    }
  }

  it(
    'serve each session from both pods',
    async () => {
      await underLoad(() => Promise.resolve());
      expect(load.failures).toEqual([]);
      expect(await podNames()).toHaveLength(REPLICAS);
    },
    2 * MINUTES,
  );

  it(
    'a rolling update fails no call and keeps every session',
    async () => {
      const before = await podNames();
      await underLoad(async () => {
        const wanted = { annotations: { 'vmcp.dev/restarted-at': '2026-01-01T00:00:00Z' } };
        await stage.patch('VirtualMCPServer', 'demo', { metadata: wanted });
        await eventually(
          podNames,
          (names) => names.length === REPLICAS && !names.some((name) => before.includes(name)),
          MINUTES,
        );
      });
      await settled();
      expect(load.failures).toEqual([]);
    },
    3 * MINUTES,
  );

  it(
    'a change of resources takes effect in the running pods, without a failed call',
    async () => {
      const before = await podNames();
      await underLoad(async () => {
        await stage.apply(backend('more', fake('tools', 'backend', ['--name', 'more', '--tools', '1'])));
        await stage.status('VirtualMCPServer', 'demo', ({ toolCount }) => toolCount === 2, MINUTES);
      });
      expect(load.failures).toEqual([]);
      expect(await podNames()).toEqual(before);
    },
    3 * MINUTES,
  );

  it(
    'a pod that is deleted drains: no call fails',
    async () => {
      const [victim = ''] = await podNames();
      await underLoad(async () => {
        await stage.remove('Pod', victim);
        await eventually(podNames, (names) => names.length === REPLICAS && !names.includes(victim), MINUTES);
      });
      await settled();
      expect(load.failures).toEqual([]);
    },
    3 * MINUTES,
  );

  it(
    'the operator that dies disturbs nobody; the next one finds all as it should be',
    async () => {
      const before = await podNames();
      const children = async () =>
        (await Promise.all(['Deployment', 'Service', 'ConfigMap'].map((kind) => stage.list(kind))))
          .flat()
          .map(({ kind, metadata }) => `${kind}/${metadata.name}/${metadata.uid}`)
          .sort();
      const made = await children();
      await underLoad(async () => {
        process.kill(stage.operator.pid, 'SIGKILL');
        await stage.operator.ended;
        await stage.apply(backend('third', fake('tools', 'backend', ['--name', 'third', '--tools', '1'])));
        stage.start();
        await stage.status('VirtualMCPServer', 'demo', ({ toolCount }) => toolCount === 3, MINUTES);
      });
      expect(load.failures).toEqual([]);
      expect(await podNames()).toEqual(before);
      const now = await children();
      expect(now.filter((child) => !child.includes('mcp-third'))).toEqual(made);
    },
    3 * MINUTES,
  );
});
