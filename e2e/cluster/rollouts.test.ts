import { beforeAll, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { backend, fake, group, type Live, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const SERVERS = ['a', 'b', 'c', 'd'];

interface Rolling extends Live {
  spec: { replicas: number; template: { spec: { imagePullSecrets?: { name: string }[] } } };
  status: Live['status'] & { observedGeneration?: number; updatedReplicas?: number; availableReplicas?: number };
}

const isRolling = ({ metadata, spec, status }: Rolling) =>
  status.observedGeneration !== metadata.generation ||
  status.updatedReplicas !== spec.replicas ||
  status.availableReplicas !== spec.replicas;

describeWithCluster('an upgrade of the operator', (cluster) => {
  const stage = useStage(cluster, 'rollouts');
  const deployments = async () =>
    ((await stage.list('Deployment')) as Rolling[]).filter(({ metadata }) => metadata.name.startsWith('vmcp-'));
  const upgraded = async () =>
    (await deployments()).filter(({ spec }) => spec.template.spec.imagePullSecrets?.[0]?.name === 'upgraded');

  beforeAll(async () => {
    await stage.apply(
      group('tools'),
      backend('one', fake('tools', 'backend', ['--name', 'one', '--tools', '1'])),
      ...SERVERS.map((name) => server(name, 'tools')),
    );
    for (const name of SERVERS) await stage.ready(name);
  }, 180_000);

  it('rolls so many servers at a time as it is told, one after the other until all are done', async () => {
    // What it renders is another pod, as with a new image.
    await stage.restart('--image-pull-secret=upgraded', '--max-concurrent-rollouts=1');
    let most = 0;
    const end = Date.now() + 120_000;
    while (Date.now() < end) {
      const rolling = (await deployments()).filter(isRolling).length;
      most = Math.max(most, rolling);
      if (rolling === 0 && (await upgraded()).length === SERVERS.length) break;
      await pause(50);
    }
    expect(await upgraded()).toHaveLength(SERVERS.length);
    expect(most).toBe(1);
  }, 150_000);

  it('does not hold up what somebody changes meanwhile', async () => {
    await stage.restart('--image-pull-secret=again', '--max-concurrent-rollouts=1');
    await stage.patch('VirtualMCPServer', 'd', {
      spec: { resources: { requests: { cpu: '11m' }, limits: { cpu: '1' } } },
    });
    await stage.ready('d', 30_000);
    expect(JSON.stringify((await stage.get('Deployment', 'vmcp-d'))?.spec)).toContain('"cpu":"11m"');
  });
});
