import { join } from 'node:path';
import { proxyOf } from '#lib/connections/proxy';
import { STORED_SECRET } from '#crds/parts/stored-secret';
import type { LocalPlace } from '../local/local-place.ts';
import { fileRecords } from '../stores/file-records.ts';
import { Registries } from './registries.ts';
import { localQuota } from './registry-quota.ts';

export function localRegistries({ state, environment, secrets, onFailure }: LocalPlace, namespace: string): Registries {
  const records = fileRecords(join(state.path, 'records'), namespace);
  return new Registries({
    settings: records('registries'),
    copies: records('registrycopies'),
    proxy: proxyOf(environment),
    privateAddresses: true,
    readSecret: async ({ name, key }) =>
      name === STORED_SECRET ? (await secrets.read(namespace, [key])).get(key) : undefined,
    now: Date.now,
    quota: localQuota(),
    onProblem: onFailure,
  });
}
