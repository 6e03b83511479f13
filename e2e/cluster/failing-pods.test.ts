import { beforeAll, expect, it } from '@jest/globals';
import { backend, fake, type Seen } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const MINUTES = 60_000;
const program = (more: object) => backend('x', { ...fake('', 'backend'), ...more }).spec as object;
const runs = (script: string) => ({ command: ['node', '-e', script] });

/** A Deployment reports a timeout after ten minutes, so a report within two has another source. */
const SOON = 2 * MINUTES;

const CASES: Record<string, { spec: object; phase: string; reason: string; message: RegExp }> = {
  image: {
    spec: program({ image: 'registry.invalid/no-such:1' }),
    phase: 'Failed',
    reason: 'PodsFail',
    message: /image "registry\.invalid\/no-such:1" of container mcp cannot be pulled: correct its name/,
  },
  command: {
    spec: program({ command: ['/no/such/program'] }),
    phase: 'Failed',
    reason: 'PodsFail',
    message: /container mcp cannot be started \(.*\/no\/such\/program.*\): correct its command/,
  },
  end: {
    spec: program(runs('console.error("secret of the program"); process.exit(3)')),
    phase: 'Failed',
    reason: 'PodsFail',
    message: /container mcp ended with exit code 3: see why in kubectl logs -n \S+ mcp-end-\S+ -c mcp --previous\./,
  },
  room: {
    spec: program({ resources: { requests: { cpu: '1000' }, limits: { cpu: '1000' } } }),
    phase: 'Pending',
    reason: 'PodsUnschedulable',
    message: /no node takes pod mcp-room-\S+ \(.*cpu.*\): lower what it requests, or add a node/,
  },
};

describeWithCluster('pods that do not start', (cluster) => {
  const stage = useStage(cluster, 'failing-pods');
  const readyOf = ({ conditions = [] }: Seen) => conditions.find(({ type }) => type === 'Ready');

  beforeAll(async () => {
    await stage.apply(...Object.entries(CASES).map(([name, { spec }]) => backend(name, spec)));
  }, MINUTES);

  it.each(Object.entries(CASES))(
    'report themselves and the reason in the status of their resource: %s',
    async (name, { phase, reason, message }) => {
      const status = await stage.status('MCPServer', name, (seen) => readyOf(seen)?.reason === reason, SOON);
      expect([status.phase, readyOf(status)?.status]).toEqual([phase, 'False']);
      expect(readyOf(status)?.message).toMatch(message);
      expect(JSON.stringify(status)).not.toContain('secret of the program');
    },
    SOON + MINUTES,
  );

  it(
    'disappear from the status once the cause is fixed',
    async () => {
      const { image } = fake('', 'backend') as { image: string };
      await stage.patch('MCPServer', 'image', { spec: { image } });
      const status = await stage.status('MCPServer', 'image', (seen) => seen.phase === 'Ready', 2 * MINUTES);
      expect(JSON.stringify(status)).not.toContain('no-such');
    },
    3 * MINUTES,
  );
});
