import { beforeAll, expect, it } from '@jest/globals';
import type { SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { readPolicy } from './read-policy.ts';
import { podsOf } from './replace-pods.ts';
import { backend, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const SESSIONS = 6;
const MINUTES = 60_000;
/** Serves answers of the length of the pod's name, so that the caller can tell the pods apart. */
const PROGRAM = `
  import { hostname } from 'node:os';
  const length = [...hostname()].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7);
  process.argv.push('--port', '8080', '--name', 'plain', '--tools', '1', '--payload', String(100 + length));
  await import('/app/e2e/fakes/backend/main.ts');
`;

describeWithCluster('a backend with two pods', (cluster) => {
  const stage = useStage(cluster, 'backend-pods');
  let clients: SessionClient[] = [];
  const podNames = async () => {
    const pods = await stage.list('Pod', 'app.kubernetes.io/name=mcp-backend');
    return pods.map(({ metadata }) => metadata.name).sort();
  };

  beforeAll(async () => {
    await stage.apply(
      group('tools'),
      backend('plain', {
        ...fake('tools', 'backend'),
        command: ['node', '--input-type=module', '-e', PROGRAM],
        backendReplicas: 2,
      }),
      server('demo', 'tools'),
      group('others'),
      server('foreign', 'others'),
    );
    await stage.ready('demo', 2 * MINUTES);
    const args = ['-n', stage.namespace.name, 'rollout', 'status', 'deployment/mcp-plain', '--timeout=50s'];
    expect((await cluster.kubectl(args)).code).toBe(0);
    // DNS knows each name some seconds after its pod is ready.
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    clients = await Promise.all(Array.from({ length: SESSIONS }, () => stage.connect('demo')));
  }, 4 * MINUTES);

  /** Returns the number of the pod that answered. */
  async function podOf(client: SessionClient): Promise<number> {
    const { answer, text } = await client.call('plain_tool_0', { text: 'x' });
    const [content] = (answer.result?.content ?? []) as { text: string }[];
    if (content === undefined) throw new Error(text);
    return content.text.length;
  }

  it(
    'keeps each session on one of its pods, and spreads sessions over both',
    async () => {
      const all = new Set<number>();
      for (const client of clients) {
        const own = new Set<number>();
        for (let turn = 0; turn < 6; turn += 1) own.add(await podOf(client));
        expect(own.size).toBe(1);
        for (const pod of own) all.add(pod);
      }
      expect(all.size).toBe(2);
    },
    MINUTES,
  );

  it(
    'continues all sessions when one of its pods is gone',
    async () => {
      const [victim = ''] = await podNames();
      await stage.remove('Pod', victim);
      await eventually(podNames, (names) => names.length === 2 && !names.includes(victim), MINUTES);
      for (const client of clients) expect(await podOf(client)).toBeGreaterThan(0);
    },
    2 * MINUTES,
  );

  it(
    'has a policy that admits runtimes of its own group, and those of another group only after it moves there',
    async () => {
      const ofServer = async (name: string) =>
        (await podsOf(stage, name)).map((pod) => `${stage.namespace.name}/${pod}`);
      const [own, foreign] = [await ofServer('demo'), await ofServer('foreign')];
      expect([own.length, foreign.length]).toEqual([1, 1]);
      // The test network does not enforce policies, so the test matches their selectors with the labels of running
      // pods.
      const policy = () => readPolicy(cluster, stage.namespace.name, 'mcp-plain');
      const pods = (await podNames()).map((pod) => `${stage.namespace.name}/${pod}`);
      expect(await policy()).toEqual({ pods, admits: { 8080: own } });
      await stage.patch('MCPServer', 'plain', { spec: { groupRef: 'others' } });
      const admitted = async () => (await policy()).admits[8080];
      const isForeign = (names: unknown) => JSON.stringify(names) === JSON.stringify(foreign);
      expect(await eventually(admitted, isForeign, MINUTES)).toEqual(foreign);
      await stage.patch('MCPServer', 'plain', { spec: { groupRef: 'tools' } });
      const isOwn = (names: unknown) => JSON.stringify(names) === JSON.stringify(own);
      expect(await eventually(admitted, isOwn, MINUTES)).toEqual(own);
    },
    3 * MINUTES,
  );

  it('has a disruption budget while it has two pods', async () => {
    const budget = () => stage.get('PodDisruptionBudget', 'mcp-plain');
    expect((await budget())?.spec).toMatchObject({ maxUnavailable: 1 });
    await stage.patch('MCPServer', 'plain', { spec: { backendReplicas: 1 } });
    await eventually(budget, (left) => left === undefined, MINUTES);
  }, 90_000);
});
