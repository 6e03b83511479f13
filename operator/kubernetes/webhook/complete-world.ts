import type { Manifest, World } from '#operator/world';
import type { KubeApi } from '../api/api.ts';
import { isStatus } from '../api/api-error.ts';
import { findNames } from '../watch/find-names.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { CONFIG_MAPS, SECRETS } from '../api/resources.ts';

/** More names than that are taken for missing. */
const MOST_NAMES = 64;

/** That a key is there is all that is asked here. */
const PRESENT = '0'.repeat(16);

async function readData(api: KubeApi, resource: Resource, namespace: string, name: string, signal: AbortSignal) {
  try {
    return (await api.get(resource, { namespace, name }, { signal })) as KubeObject & { data?: Record<string, string> };
  } catch (problem) {
    if (isStatus(problem, 403, 404)) return undefined;
    throw problem;
  }
}

async function readMissing<T>(
  names: ReadonlyMap<string, unknown>,
  known: Record<string, unknown>,
  read: (name: string) => Promise<T | undefined>,
): Promise<Record<string, T>> {
  const missing = [...names.keys()].filter((name) => !(name in known)).slice(0, MOST_NAMES);
  const found = await Promise.all(missing.map(async (name) => [name, await read(name)] as const));
  return Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** The world with those Secrets and ConfigMaps that a manifest is the first to name: only what is named is ever read. */
export async function completeWorld(
  manifest: Manifest,
  world: World,
  api: KubeApi,
  signal: AbortSignal,
): Promise<World> {
  const { secrets, configMaps } = findNames(manifest.spec);
  const { namespace } = world;
  const readSecret = async (name: string) => {
    const secret = await readData(api, SECRETS, namespace, name, signal);
    return secret && Object.fromEntries(Object.keys(secret.data ?? {}).map((key) => [key, PRESENT]));
  };
  const readConfigMap = async (name: string) => {
    const map = await readData(api, CONFIG_MAPS, namespace, name, signal);
    return map && { ...map.data };
  };
  const [moreSecrets, moreMaps] = await Promise.all([
    readMissing(secrets, world.secrets, readSecret),
    readMissing(configMaps, world.configMaps, readConfigMap),
  ]);
  return {
    ...world,
    secrets: { ...world.secrets, ...moreSecrets },
    configMaps: { ...world.configMaps, ...moreMaps },
  };
}
