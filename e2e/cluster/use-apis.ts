import { afterAll } from '@jest/globals';
import { KubeApi } from '#operator/kubernetes/api/api';
import { connect, loadKubeConfig } from '#operator/kubernetes/api/connection';
import type { Cluster, Namespace } from './use-cluster.ts';

/** Opens connections and namespaces on demand, and removes them after the last test of the suite. */
export function useApis(cluster: Cluster, suite: string) {
  const apis: KubeApi[] = [];
  const namespaces: Namespace[] = [];
  afterAll(async () => {
    for (const namespace of namespaces) await namespace.delete();
    for (const api of apis) await api.close();
  });
  return {
    openApi: (): KubeApi => {
      const api = new KubeApi(connect(loadKubeConfig({ kubeconfig: cluster.kubeconfig })));
      apis.push(api);
      return api;
    },
    makeNamespace: async (): Promise<Namespace> => {
      const made = await cluster.makeNamespace(suite);
      namespaces.push(made);
      return made;
    },
  };
}
