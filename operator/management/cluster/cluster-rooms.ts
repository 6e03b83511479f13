import type { KubeApi } from '#operator/kubernetes/api/api';
import { Clients } from '../clients/clients.ts';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import { perNamespace } from '../per-namespace.ts';
import { clusterRegistries } from '../registries/cluster-registries.ts';
import type { Rooms } from '../rooms.ts';
import { kubernetesSecrets } from '../secrets/kubernetes-secrets.ts';
import { openClusterSkills } from '../skills/open-cluster-skills.ts';
import { clusterConfigMaps } from '../stores/cluster-config-maps.ts';
import { clusterResources } from '../stores/cluster-resources.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import type { Resources } from '../stores/resources.ts';
import { clusterRuntime } from '../workloads/cluster-runtime.ts';
import { type WorkloadRooms, workloadRooms } from '../workloads/workload-rooms.ts';

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
  const workloads = perNamespace((namespace) => clusterWorkloads(place, namespace, resources(namespace)));
  return (namespace) => ({
    version,
    openApi,
    now: Date.now,
    // Each when it is asked for: an operation that is the same in every namespace has none to open them by.
    get clients() {
      return clients(namespace);
    },
    get registries() {
      return registries(namespace);
    },
    get secrets() {
      return kubernetesSecrets({ api, namespace });
    },
    get skills() {
      return skills(namespace, clients(namespace));
    },
    get workloads() {
      return workloads(namespace).workloads;
    },
    get runConfigurations() {
      return workloads(namespace).runConfigurations;
    },
    get groups() {
      return workloads(namespace).groups;
    },
    get operations() {
      return workloads(namespace).operations;
    },
  });
}

function clusterWorkloads({ api, onFailure }: ClusterPlace, namespace: string, resources: Resources): WorkloadRooms {
  return workloadRooms({
    resources,
    configMaps: clusterConfigMaps(api, namespace),
    runtime: clusterRuntime({ api, namespace }),
    records: configMapRecords({ api, namespace })('operations'),
    now: Date.now,
    onFailure,
  });
}
