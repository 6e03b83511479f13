import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { KubeApi } from '#operator/kubernetes/api/api';
import { connect, loadKubeConfig } from '#operator/kubernetes/api/connection';
import { clusterRooms } from '#operator/management/cluster/cluster-rooms';
import type { Context } from '../context.ts';
import { inProcessApi } from './in-process-api.ts';
import type { ManagementApi } from './management-api.ts';
import type { TargetOptions } from './target.ts';

/** The operations on a namespace of a cluster, with the rights of the kubeconfig and no others. */
export function openClusterApi(
  options: TargetOptions,
  { version, environment, err }: Context,
  stop: AbortSignal,
): ManagementApi {
  const kube = new KubeApi(connect(loadKubeConfig(options)));
  const namespace = options.namespace ?? kube.namespace ?? 'default';
  const rooms = clusterRooms({
    api: kube,
    apiGroup: DEFAULT_API_GROUP,
    environment,
    version,
    onFailure: (text) => void err.write(`${text}\n`),
  })(namespace);
  return inProcessApi({
    rooms,
    place: `namespace ${namespace}`,
    running: true,
    onFailure: ({ message }) => void err.write(`${message}\n`),
    async close() {
      await rooms.operations.idle();
      await rooms.registries.close();
      await kube.close();
    },
    stop,
  });
}
