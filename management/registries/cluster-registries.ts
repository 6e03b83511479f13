import { z } from 'zod';
import { proxyOf } from '#lib/connections/proxy';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { SECRETS } from '#operator/kubernetes/api/resources';
import type { ClusterPlace } from '../cluster/cluster-place.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';
import type { Resources } from '../stores/resources.ts';
import { Registries } from './registries.ts';
import type { RegistryQuota } from './registry-quota.ts';

const SecretData = z.record(z.string(), z.string()).optional();

export function clusterRegistries(
  { api, apiGroup, environment, privateAddresses, onFailure }: ClusterPlace,
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
