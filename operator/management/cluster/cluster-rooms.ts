import type { KubeApi } from '#operator/kubernetes/api/api';
import { Clients } from '../clients/clients.ts';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import { perNamespace } from '../per-namespace.ts';
import { clusterRegistries } from '../registries/cluster-registries.ts';
import type { Rooms } from '../rooms.ts';
import { kubernetesSecrets } from '../secrets/kubernetes-secrets.ts';
import { openClusterSkills } from '../skills/open-cluster-skills.ts';
import { clusterResources } from '../stores/cluster-resources.ts';
import { configMapRecords } from '../stores/config-map-records.ts';

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
  const resources = (namespace: string) => clusterResources({ api, namespace, apiGroup });
  const registries = perNamespace((namespace) => clusterRegistries(place, namespace, resources(namespace)));
  const skills = openClusterSkills(place);
  const clients = (namespace: string) =>
    new Clients({
      records: configMapRecords({ api, namespace })('clients'),
      resources: resources(namespace),
      home: undefined,
    });
  return (namespace) => ({
    version,
    openApi,
    clients: clients(namespace),
    registries: registries(namespace),
    secrets: kubernetesSecrets({ api, namespace }),
    skills: skills(namespace, clients(namespace)),
  });
}
