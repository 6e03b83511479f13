import { tmpdir } from 'node:os';
import { z } from 'zod';
import { proxyOf } from '#lib/connections/proxy';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { SECRETS } from '#operator/kubernetes/api/resources';
import { Clients } from '../clients/clients.ts';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import { openServices } from '../open-services.ts';
import { perNamespace } from '../per-namespace.ts';
import { ImageProvenance, openRoots } from '../provenance/image-provenance.ts';
import { CHECKS_OF_ONE, limitChecks } from '../provenance/limit-checks.ts';
import { Registries } from '../registries/registries.ts';
import { clusterQuota, type RegistryQuota } from '../registries/registry-quota.ts';
import type { Services } from '../services.ts';
import { kubernetesSecrets } from '../secrets/kubernetes-secrets.ts';
import { clusterSkills } from '../skills/cluster-skills.ts';
import { FETCH_DEADLINE } from '../skills/skill-source.ts';
import type { SkillReaders, Skills } from '../skills/skills.ts';
import { StagingSemaphore } from '../skills/staging-semaphore.ts';
import { clusterConfigMaps } from '../stores/cluster-config-maps.ts';
import { clusterResources } from '../stores/cluster-resources.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import { ListSemaphore } from '../stores/list-semaphore.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';
import type { Resources } from '../stores/resources.ts';
import { clusterRuntime } from '../workloads/cluster-runtime.ts';
import { PodLogs } from '../workloads/pod-logs.ts';
import { type WorkloadServices, workloadServices } from '../workloads/workload-services.ts';

/** Serves the management API and commands with a kubeconfig. */
export function clusterServices(deps: ClusterDeps): (namespace: string) => Services {
  const { api, apiGroup, streams, version, privateAddresses, environment } = deps;
  const podLogs = new PodLogs(streams);
  const lists = new ListSemaphore();
  const kept = perNamespace((namespace) => ({
    resources: clusterResources({ api, namespace, apiGroup, lists }),
    close: () => Promise.resolve(),
  }));
  const resources = (namespace: string) => kept(namespace).resources;
  const skills = openClusterSkills(deps, lists);
  const clients = (namespace: string) =>
    new Clients({
      records: configMapRecords({ api, namespace, apiGroup })('clients'),
      resources: resources(namespace),
      home: undefined,
    });
  const registryQuota = clusterQuota();
  const registries = perNamespace((namespace) =>
    clusterRegistries(deps, namespace, resources(namespace), registryQuota(namespace)),
  );
  const roots = openRoots({ folder: deps.sigstoreRoots, cache: undefined, now: Date.now });
  const limit = limitChecks(CHECKS_OF_ONE);
  const proxy = proxyOf(environment);
  return openServices({
    version,
    openApi: renderOpenApi(OPERATIONS, version),
    clients,
    provenance: (namespace) =>
      new ImageProvenance({ registries: registries(namespace), roots, limit, privateAddresses, proxy }),
    registries,
    secrets: (namespace) => kubernetesSecrets({ api, namespace, apiGroup }),
    skills: (namespace) => skills(namespace, clients(namespace)),
    workloads: perNamespace((namespace) =>
      clusterWorkloads({ ...deps, podLogs, lists }, namespace, resources(namespace)),
    ),
  });
}

function clusterWorkloads(
  { api, apiGroup, podLogs, lists, onFailure }: ClusterDeps & { podLogs: PodLogs; lists: ListSemaphore },
  namespace: string,
  resources: Resources,
): WorkloadServices {
  return workloadServices({
    resources,
    configMaps: clusterConfigMaps(api, namespace),
    runtime: clusterRuntime({ api, apiGroup, podLogs, lists, namespace }),
    records: configMapRecords({ api, namespace, apiGroup })('operations'),
    now: Date.now,
    onFailure,
  });
}

function openClusterSkills(
  { api, apiGroup, environment, privateAddresses }: ClusterDeps,
  lists: ListSemaphore,
): (namespace: string, readers: SkillReaders) => Skills {
  const rules = {
    localPaths: false,
    privateAddresses,
    proxy: proxyOf(environment),
    searchPath: environment.PATH ?? '',
    deadline: FETCH_DEADLINE,
  };
  const semaphore = new StagingSemaphore(tmpdir());
  return (namespace, readers) => {
    const records = configMapRecords({ api, namespace, apiGroup });
    return clusterSkills({ namespace, records, readers, rules, lists, now: Date.now }, semaphore);
  };
}

const SecretData = z.record(z.string(), z.string()).optional();

function clusterRegistries(
  { api, apiGroup, environment, privateAddresses, onFailure }: ClusterDeps,
  namespace: string,
  resources: Pick<Resources, 'list'>,
  quota: RegistryQuota,
): Registries {
  const records = configMapRecords({ api, namespace, apiGroup });
  return new Registries({
    settings: records('registries'),
    copies: records('registrycopies'),
    proxy: proxyOf(environment),
    privateAddresses,
    readSecret: async ({ name, key }) => {
      try {
        const value = SecretData.parse((await api.get(SECRETS, { namespace, name })).data)?.[key];
        return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
      } catch (problem) {
        if (isStatus(problem, 404)) return undefined;
        throw problemOfApi(problem);
      }
    },
    now: Date.now,
    quota,
    cluster: { resources, namespace },
    onProblem: onFailure,
  });
}

export interface ClusterDeps {
  api: KubeApi;
  /** Separate connections for logs, so that long streams do not block other requests. */
  streams: KubeApi;
  apiGroup: string;
  environment: NodeJS.ProcessEnv;
  /** Whether records may allow private addresses, called from the network of this process. */
  privateAddresses: boolean;
  /** Folder with a file `<host>.json` for each sigstore instance. Without it only the public instance is trusted. */
  sigstoreRoots?: string | undefined;
  version: string;
  /** Called on internal failures. The text contains no secret. */
  onFailure: (text: string) => void;
}
