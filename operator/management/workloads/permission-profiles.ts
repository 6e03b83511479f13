import { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { readText } from '#operator/world';
import type { ConfigMaps } from '../stores/config-maps.ts';
import type { StoredResource } from '../stores/resources.ts';
import { PROFILE_KEY } from './permission-fields.ts';
import { readSpec } from './spec.ts';

/** Permission profiles that ConfigMaps hold. */
export class PermissionProfiles {
  readonly #configMaps: ConfigMaps;

  constructor(configMaps: ConfigMaps) {
    this.#configMaps = configMaps;
  }

  /** What the ConfigMap of a workload's profile says; undefined where there is none, or it is not valid: the status says so. */
  async read({ spec }: Pick<StoredResource, 'spec'>): Promise<PermissionProfileDocument | undefined> {
    const { permissionProfile: profile } = readSpec(spec);
    if (profile?.type !== 'configmap') return undefined;
    const text = (await this.#configMaps.get(profile.name))?.[profile.key ?? ''];
    try {
      return PermissionProfileDocument.safeParse(readText(text ?? '')).data;
    } catch {
      return undefined;
    }
  }

  /** Writes a workload's own profile, where there is one to write, and then what refers to it: what fails leaves the former one. */
  async with<T>(
    workload: string,
    profile: PermissionProfileDocument | undefined,
    writing: () => Promise<T>,
  ): Promise<T> {
    if (!profile) return writing();
    const name = nameOf(workload);
    const former = await this.#configMaps.get(name);
    await this.#configMaps.put(name, { [PROFILE_KEY]: JSON.stringify(profile) });
    try {
      return await writing();
    } catch (problem) {
      if (former) await this.#configMaps.put(name, former);
      else await this.#configMaps.delete(name);
      throw problem;
    }
  }

  /** Takes the workload's own one away, if it has one. */
  async remove(workload: string): Promise<void> {
    await this.#configMaps.delete(nameOf(workload));
  }
}

/** ConfigMap of a workload's own profile. */
const nameOf = (workload: string): string => `${workload}-permissions`;
