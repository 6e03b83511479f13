import { describe, it } from '@jest/globals';
import { type Breakable, breakable } from './kit/break.ts';
import { type Cluster, describeWithCluster, useCluster } from './use-cluster.ts';

const unbreakable: Breakable = {
  restart: () => Promise.reject(new Error('there is no cluster')),
  killPod: () => undefined,
  killNode: () => Promise.reject(new Error('there is no cluster')),
  startNode: () => undefined,
};

/** Describes tests that break a cluster. They are skipped unless it is the cluster of this machine. */
export function describeWithOwnCluster(name: string, tests: (cluster: Cluster, own: Breakable) => void): void {
  const cluster = useCluster();
  const own = cluster && breakable(cluster.kubeconfig);
  if (cluster && !own)
    describe.skip(`${name} (skipped: E2E_KUBECONFIG names a cluster that is not of this machine)`, () =>
      it('breaks', () => undefined));
  else describeWithCluster(name, (used) => tests(used, own ?? unbreakable));
}
