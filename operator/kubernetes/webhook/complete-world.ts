import { byName } from '#operator/by-name';
import type { Manifest, World } from '#operator/world';
import type { KubeApi } from '../api/api.ts';
import { isStatus } from '../api/api-error.ts';
import { findNames } from '../watch/find-names.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { CONFIG_MAPS, SECRETS } from '../api/resources.ts';

/** More names than that are taken for missing. */
const MOST_NAMES = 64;
/** Objects that are read at the same time: each may have a megabyte. */
const AT_ONCE = 8;

/** That a key is there is all that is asked here. */
const PRESENT = '0'.repeat(16);

async function readData(
  api: Pick<KubeApi, 'get'>,
  resource: Resource,
  namespace: string,
  name: string,
  signal: AbortSignal,
) {
  try {
    return (await api.get(resource, { namespace, name }, { signal })) as KubeObject & { data?: Record<string, string> };
  } catch (problem) {
    if (isStatus(problem, 403, 404)) return undefined;
    throw problem;
  }
}

/** What is known, with what is read now: whole objects, of which no more are held at once. */
async function readMissing<T>(
  names: ReadonlyMap<string, unknown>,
  known: Readonly<Record<string, T>>,
  read: (name: string) => Promise<T | undefined>,
): Promise<Record<string, T>> {
  const missing = [...names.keys()].filter((name) => !(name in known)).slice(0, MOST_NAMES);
  const found = new Map<string, T>();
  for (let at = 0; at < missing.length; at += AT_ONCE) {
    const reads = missing.slice(at, at + AT_ONCE).map(async (name) => {
      const value = await read(name);
      if (value !== undefined) found.set(name, value);
    });
    await Promise.all(reads);
  }
  return byName([...Object.entries(known), ...found]);
}

/** The world with those Secrets and ConfigMaps that a manifest is the first to name: only what is named is ever read. */
export async function completeWorld(
  manifest: Manifest,
  world: World,
  api: Pick<KubeApi, 'get'>,
  signal: AbortSignal,
): Promise<World> {
  const names = findNames(manifest.spec);
  const { namespace } = world;
  const readSecret = async (name: string) => {
    const secret = await readData(api, SECRETS, namespace, name, signal);
    return secret && Object.fromEntries(Object.keys(secret.data ?? {}).map((key) => [key, PRESENT]));
  };
  const readConfigMap = async (name: string) => {
    const map = await readData(api, CONFIG_MAPS, namespace, name, signal);
    return map && { ...map.data };
  };
  const [secrets, configMaps] = await Promise.all([
    readMissing(names.secrets, world.secrets, readSecret),
    readMissing(names.configMaps, world.configMaps, readConfigMap),
  ]);
  return {
    ...world,
    secrets,
    configMaps,
  };
}
