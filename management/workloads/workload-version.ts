import { createHash } from 'node:crypto';
import type { StoredResource } from '../stores/resources.ts';
import type { ReadProfile } from './permission-profiles.ts';

export interface Read extends ReadProfile {
  resource: StoredResource;
}

/** Includes the profile, which is in a separate object. */
export function versionOf({ resource: { version }, profile }: Pick<Read, 'resource' | 'profile'>): string {
  if (!profile) return version;
  return createHash('sha256')
    .update(`${version} ${JSON.stringify(profile)}`)
    .digest('base64url')
    .slice(0, 22);
}
