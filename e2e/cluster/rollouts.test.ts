import { beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../local/run-vmcp.ts';
import { IMAGES } from './images.ts';
import { backend, fake, group, type ObservedObject, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const MEMORY = '/app/node_modules/@modelcontextprotocol/server-memory/dist/index.js';
const SERVERS = ['a', 'b', 'c', 'd'];
/** Two programs on standard input and output, each behind a bridge; the first also has its own endpoint. */
const PROGRAMS = { first: { proxyPort: 8080 }, second: {} };
const ALL = [
  ...SERVERS.map((name) => `vmcp-${name}`),
  ...Object.keys(PROGRAMS).map((name) => `mcp-${name}`),
  'mcp-first-proxy',
].sort();

interface Rolling extends ObservedObject {
  spec: { replicas: number; template: { spec: { imagePullSecrets?: { name: string }[] } } };
  status: ObservedObject['status'] & {
    observedGeneration?: number;
    updatedReplicas?: number;
    availableReplicas?: number;
  };
}

/** Milliseconds that one rollout may take. */
const ROLLOUT = 90_000;

const isRolling = ({ metadata, spec, status }: Rolling) =>
  status.observedGeneration !== metadata.generation ||
  status.updatedReplicas !== spec.replicas ||
  status.availableReplicas !== spec.replicas;

describeWithCluster('an upgrade of the operator', (cluster) => {
  const stage = useStage(cluster, 'rollouts');
  const deployments = async () =>
    ((await stage.list('Deployment')) as Rolling[]).filter(({ metadata }) => ALL.includes(metadata.name));
  const isUpgraded = ({ spec }: Rolling) => spec.template.spec.imagePullSecrets?.[0]?.name === 'upgraded';

  beforeAll(async () => {
    await stage.apply(
      group('tools'),
      backend('one', fake('tools', 'backend', ['--name', 'one', '--tools', '1'])),
      ...SERVERS.map((name) => server(name, 'tools')),
      ...Object.entries(PROGRAMS).map(([name, spec]) =>
        backend(name, { image: IMAGES.backends, transport: 'stdio', command: ['node', MEMORY], ...spec }),
      ),
    );
    for (const name of SERVERS) await stage.ready(name);
    await eventually(deployments, (all) => all.length === ALL.length && !all.some(isRolling), 60_000);
    // A document that was never active rolls out at once, like a fresh edit. So the test waits for it.
    for (const name of Object.keys(PROGRAMS)) {
      await stage.status('MCPServer', name, ({ observedGeneration }) => observedGeneration === 1, 60_000);
    }
  }, 240_000);

  it(
    'rolls out at most the configured number of servers and backends at a time, until all are done',
    async () => {
      // The flag changes the rendered pods, as a new image does.
      await stage.restart('--image-pull-secret=upgraded', '--max-concurrent-rollouts=1');
      let most: string[] = [];
      const countDone = async () => {
        const all = await deployments();
        const rolling = all.filter(isRolling).map(({ metadata }) => metadata.name);
        if (rolling.length > most.length) most = rolling;
        return all.filter((one) => isUpgraded(one) && !isRolling(one)).length;
      };
      for (let done = 0; done < ALL.length; done += 1) await eventually(countDone, (count) => count > done, ROLLOUT);
      expect(most).toHaveLength(1);
    },
    ALL.length * ROLLOUT,
  );

  it('does not delay edits that users make meanwhile', async () => {
    await stage.restart('--image-pull-secret=again', '--max-concurrent-rollouts=1');
    await stage.patch('VirtualMCPServer', 'd', {
      spec: { resources: { requests: { cpu: '11m' }, limits: { cpu: '1' } } },
    });
    await stage.ready('d', 30_000);
    expect(JSON.stringify((await stage.get('Deployment', 'vmcp-d'))?.spec)).toContain('"cpu":"11m"');
  });
});
