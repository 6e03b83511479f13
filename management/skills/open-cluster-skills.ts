import { tmpdir } from 'node:os';
import { proxyOf } from '#lib/connections/proxy';
import type { ClusterPlace } from '../cluster/cluster-place.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import type { ListTurns } from '../stores/list-turns.ts';
import { clusterSkills } from './cluster-skills.ts';
import { FETCH_DEADLINE } from './skill-source.ts';
import type { SkillReaders, Skills } from './skills.ts';
import { StagingRooms } from './staging-rooms.ts';

/** The skills of the namespaces of a cluster. */
export function openClusterSkills(
  { api, apiGroup, environment, privateAddresses }: ClusterPlace,
  lists: ListTurns,
): (namespace: string, readers: SkillReaders) => Skills {
  const rules = {
    localPaths: false,
    privateAddresses,
    proxy: proxyOf(environment),
    searchPath: environment.PATH ?? '',
    deadline: FETCH_DEADLINE,
  };
  const rooms = new StagingRooms(tmpdir());
  return (namespace, readers) => {
    const records = configMapRecords({ api, namespace, apiGroup });
    return clusterSkills({ namespace, records, readers, rules, lists, now: Date.now }, rooms);
  };
}
