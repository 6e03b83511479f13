import type { KubeApi } from '#operator/kubernetes/api/api';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import type { Rooms } from '../rooms.ts';
import { kubernetesSecrets } from '../secrets/kubernetes-secrets.ts';

/** A cluster, with the rights of whoever connected. */
export interface ClusterPlace {
  api: KubeApi;
  /** Of this program. */
  version: string;
}

/** What operations work with in a cluster, by namespace: in the operator, and in the command of somebody with a kubeconfig. */
export function clusterRooms({ api, version }: ClusterPlace): (namespace: string) => Rooms {
  const openApi = renderOpenApi(OPERATIONS, version);
  return (namespace) => ({ version, openApi, secrets: kubernetesSecrets({ api, namespace }) });
}
