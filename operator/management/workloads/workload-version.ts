import { createHash } from 'node:crypto';
import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { Problem } from '../problem.ts';
import type { StoredResource } from '../stores/resources.ts';

/** A workload as it was read. */
export interface Read {
  resource: StoredResource;
  /** What the ConfigMap of its permission profile says. */
  profile: PermissionProfileDocument | undefined;
}

/** Version of all that a record of it says: a profile stands in an object of its own. */
export function versionOf({ resource: { version }, profile }: Read): string {
  if (!profile) return version;
  return createHash('sha256')
    .update(`${version} ${JSON.stringify(profile)}`)
    .digest('base64url')
    .slice(0, 22);
}

export const isStale = (problem: unknown): boolean => problem instanceof Problem && problem.code === 'stale';
