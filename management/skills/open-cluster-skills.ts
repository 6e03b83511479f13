import { tmpdir } from 'node:os';
import { proxyOf } from '#lib/connections/proxy';
import type { ClusterPlace } from '../cluster/cluster-place.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import type { ListSemaphore } from '../stores/list-semaphore.ts';
import { clusterSkills } from './cluster-skills.ts';
import { FETCH_DEADLINE } from './skill-source.ts';
import type { SkillReaders, Skills } from './skills.ts';
import { StagingSemaphore } from './staging-semaphore.ts';

export function openClusterSkills(
  { api, apiGroup, environment, privateAddresses }: ClusterPlace,
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
