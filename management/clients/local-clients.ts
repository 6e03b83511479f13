import { join } from 'node:path';
import { homeOf } from '#management/clients/files/clients';
import { FileLock } from '#lib/files/file-lock';
import type { StateFolder } from '#local/state-folder';
import { readLocalStatus } from '#local/local-status-file';
import { keyText, type ResourceKey } from '#operator/snapshot';
import { fileRecords } from '../stores/file-records.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import { Clients } from './clients.ts';

interface LocalClientsOptions {
  state: StateFolder;
  folder: string;
  environment: NodeJS.ProcessEnv;
}

export function localClients({ state, folder, environment }: LocalClientsOptions, namespace: string): Clients {
  const files = new ManifestFiles(folder, new FileLock(join(state.path, 'manifests.lock')));
  const statusOf = (key: ResourceKey) =>
    readLocalStatus(state)?.resources.find((one) => keyText(one.key) === keyText(key))?.status;
  return new Clients({
    records: fileRecords(join(state.path, 'records'), namespace)('clients'),
    resources: folderResources({ files, namespace, statusOf, now: Date.now }),
    home: homeOf(environment),
  });
}
