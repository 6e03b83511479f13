import type { KubeApi } from '#operator/kubernetes/api/api';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import { perNamespace } from '../per-namespace.ts';
import { clusterRegistries } from '../registries/cluster-registries.ts';
import type { Rooms } from '../rooms.ts';
import { kubernetesSecrets } from '../secrets/kubernetes-secrets.ts';
import { clusterResources } from '../stores/cluster-resources.ts';

/** A cluster, with the rights of whoever connected. */
export interface ClusterPlace {
  api: KubeApi;
  /** Of the kinds that are served there. */
  apiGroup: string;
  /** Of this process: proxies are named there. */
  environment: NodeJS.ProcessEnv;
  /** Of this program. */
  version: string;
  /** Told of what failed inside; holds no secret. */
  onFailure: (text: string) => void;
}

/** What operations work with in a cluster, by namespace: in the operator, and in the command of somebody with a kubeconfig. */
export function clusterRooms(place: ClusterPlace): (namespace: string) => Rooms {
  const { api, apiGroup, version } = place;
  const openApi = renderOpenApi(OPERATIONS, version);
  const registries = perNamespace((namespace) =>
    clusterRegistries(place, namespace, clusterResources({ api, namespace, apiGroup })),
  );
  return (namespace) => ({
    version,
    openApi,
    registries: registries(namespace),
    secrets: kubernetesSecrets({ api, namespace }),
  });
}
