import { createHash } from 'node:crypto';
import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { readProfile } from '#operator/plan/read-permission-profile';
import type { ConfigMaps, StoredConfigMap } from '../stores/config-maps.ts';
import { isStale, stale } from '../stores/record-store.ts';
import type { StoredResource } from '../stores/resources.ts';
import { PROFILE_KEY } from './permission-fields.ts';
import { readKey } from './read-key.ts';
import { readSpec } from './spec.ts';

/** Permission profiles in ConfigMaps. */
export class PermissionProfiles {
  readonly #configMaps: ConfigMaps;

  constructor(configMaps: ConfigMaps) {
    this.#configMaps = configMaps;
  }

  async read({ name, spec }: Pick<StoredResource, 'name' | 'spec'>): Promise<ReadProfile> {
    const { permissionProfile } = readSpec(spec);
    if (permissionProfile?.type !== 'configmap') return { profile: undefined };
    const found = await this.#configMaps.get(permissionProfile.name);
    const profile = readKey(found, permissionProfile.key ?? '', readProfile);
    return permissionProfile.name === nameOf(name) ? { profile, own: { version: found?.version } } : { profile };
  }

  /** Restores the former profile after a failure, unless another writer changed it. @throws Problem `stale`: another profile than read */
  async with<T>(
    { name: workload, own }: Pick<ReadProfile, 'own'> & { name: string },
    profile: PermissionProfileDocument | undefined,
    writing: () => Promise<T>,
  ): Promise<T> {
    if (!profile) return writing();
    const name = nameOf(workload);
    const former = await this.#configMaps.get(name);
    if (own && own.version !== former?.version) throw stale(name);
    const version = await this.#configMaps.put(name, textOf(profile), former?.version);
    try {
      return await writing();
    } catch (problem) {
      await this.#putBack(name, former, version).catch((second: unknown) => {
        // The caller gets the first failure.
        if (problem instanceof Error) problem.cause ??= second;
      });
      throw problem;
    }
  }

  async #putBack(name: string, former: StoredConfigMap | undefined, version: string): Promise<void> {
    await unlessStale(
      former ? this.#configMaps.put(name, former.data, version) : this.#configMaps.delete(name, version),
    );
  }

  /** @throws Problem `stale`: the workload has a profile; `conflict` */
  async make(workload: string, profile: PermissionProfileDocument): Promise<void> {
    await this.#configMaps.put(nameOf(workload), textOf(profile), undefined);
  }

  async versionOf(workload: string): Promise<string | undefined> {
    return (await this.#configMaps.get(nameOf(workload)))?.version;
  }

  /** Removes the profile only if it still has this version. */
  async remove(workload: string, version: string): Promise<void> {
    await unlessStale(this.#configMaps.delete(nameOf(workload), version));
  }
}

export interface ReadProfile {
  /** Undefined without a profile or with an invalid one; the status reports that. */
  profile: PermissionProfileDocument | undefined;
  /** Set when the workload refers to its own ConfigMap; its version is undefined when the ConfigMap is missing. */
  own?: { version: string | undefined } | undefined;
}

const nameOf = (workload: string): string => `${workload}-permissions`;

const textOf = (profile: PermissionProfileDocument) => ({ [PROFILE_KEY]: JSON.stringify(profile) });

/** Keeps the profile of another writer. */
async function unlessStale(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (problem) {
    if (!isStale(problem)) throw problem;
  }
}

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
