import { statSync } from 'node:fs';
import type { Status } from '#crds/kinds/status';
import type { StateFolder } from '#local/state-folder';
import { readLocalStatus } from '#local/local-status-file';
import { keyText, type ResourceKey } from '#operator/snapshot';

export function statusReader(state: StateFolder): (key: ResourceKey) => Status | undefined {
  let seen = '';
  let statuses = new Map<string, Status>();
  return (key) => {
    const now = signatureOf(state.status) + signatureOf(state.lock);
    if (now !== seen) {
      const resources = readLocalStatus(state)?.resources ?? [];
      statuses = new Map(resources.map((one) => [keyText(one.key), one.status]));
      seen = now;
    }
    return statuses.get(keyText(key));
  };
}

function signatureOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ` : '- ';
}
