import { Groups } from '../groups/groups.ts';
import type { Services } from '../services.ts';
import type { ConfigMaps } from '../stores/config-maps.ts';
import type { RecordStore } from '../stores/record-store.ts';
import type { Resources } from '../stores/resources.ts';
import { BackgroundWork } from './background-work.ts';
import { RunConfigurations } from './export/run-configurations.ts';
import { PermissionProfiles } from './permission-profiles.ts';
import type { WorkloadRuntime } from './runtime.ts';
import { Workloads } from './workloads.ts';

interface WorkloadDeps {
  resources: Resources;
  configMaps: ConfigMaps;
  runtime: WorkloadRuntime;
  records: RecordStore;
  now: () => number;
  onFailure: (text: string) => void;
}

export type WorkloadServices = Pick<Services, 'workloads' | 'runConfigurations' | 'groups' | 'operations'> & {
  close(): Promise<void>;
};

/** One instance per process, because it serializes changes. */
export function workloadServices({ records, now, onFailure, configMaps, ...deps }: WorkloadDeps): WorkloadServices {
  const profiles = new PermissionProfiles(configMaps);
  const workloads = new Workloads({ ...deps, profiles });
  const operations = new BackgroundWork({ records, workloads, now, onFailure });
  return {
    workloads,
    runConfigurations: new RunConfigurations({ ...deps, configMaps, workloads, profiles }),
    groups: new Groups(deps.resources),
    operations,
    close: () => operations.close(),
  };
}
