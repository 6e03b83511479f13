import { clusterResources } from '#management/stores/cluster-resources';
import { KubeApi } from '#operator/kubernetes/api/api';
import { connectCluster, explainFailure } from '../management/connect-cluster.ts';
import { findApiGroup } from '../management/find-api-group.ts';
import type { TargetOptions } from '../management/target.ts';
import type { Servers } from './servers.ts';

/** Uses only the rights of the kubeconfig. @throws CliError */
export async function withClusterServers(
  options: TargetOptions,
  work: (servers: Servers) => Promise<void>,
): Promise<void> {
  const connection = connectCluster(options);
  const api = new KubeApi(connection);
  const namespace = options.namespace ?? api.namespace ?? 'default';
  try {
    const apiGroup = await findApiGroup(api, options.apiGroup);
    const resources = clusterResources({ api, namespace, apiGroup });
    await work({ resources, place: `namespace ${namespace}`, running: true });
  } catch (problem) {
    throw explainFailure(problem, { server: connection.server, namespace });
  } finally {
    await api.close();
  }
}
