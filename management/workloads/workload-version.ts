import { createHash } from 'node:crypto';
import type { StoredResource } from '../stores/resources.ts';
import type { ReadProfile } from './permission-profiles.ts';

/** A workload as it was read. */
export interface Read extends ReadProfile {
  resource: StoredResource;
}

/** Version of all that a record of it says: a profile stands in an object of its own. */
export function versionOf({ resource: { version }, profile }: Pick<Read, 'resource' | 'profile'>): string {
  if (!profile) return version;
  return createHash('sha256')
    .update(`${version} ${JSON.stringify(profile)}`)
    .digest('base64url')
    .slice(0, 22);
}
