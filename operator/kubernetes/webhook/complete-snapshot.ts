import { byName } from '#operator/by-name';
import { Semaphore } from '#lib/limits/semaphore';
import { BOUNDS, MIB } from '#operator/memory-bounds';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { memoryOf } from '#operator/text-memory';
import type { KubeApi } from '../api/api.ts';
import { isStatus } from '../api/api-error.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { CONFIG_MAPS, SECRETS } from '../api/resources.ts';
import { findNames } from '../watch/find-names.ts';

/** Further names count as missing. */
const MOST_NAMES = 64;
/** Concurrent reads for all reviews: each object may have a megabyte. */
const AT_ONCE = 8;
/** Memory of a key besides its name and value. Bytes. */
const WEIGHT_OF_KEY = 128;
const TOO_MUCH = `the review of one resource reads ${BOUNDS.webhook.ofReview / MIB} MiB of what nobody named before; the status will say how it is`;

/** A review checks only the presence of a key. */
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

/** Returns the known objects and those read now, and holds few whole objects at a time. */
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

export function fewAtOnce(api: Pick<KubeApi, 'get'>): Pick<KubeApi, 'get'> {
  const semaphore = new Semaphore({ total: AT_ONCE });
  return {
    get: (resource, place, options) =>
      semaphore.run({ signal: options?.signal }, () => api.get(resource, place, options)),
  };
}

/** Adds the Secrets and ConfigMaps that only this manifest names to a snapshot. No other object is read. */
export async function completeSnapshot(
  manifest: Manifest,
  snapshot: Snapshot,
  api: Pick<KubeApi, 'get'>,
  signal: AbortSignal,
): Promise<Snapshot> {
  const names = findNames(manifest.spec);
  const { namespace, refused } = snapshot;
  const tooMuch = { secrets: new Map<string, string>(), configMaps: new Map<string, string>() };
  let bytes = 0;
  const reader =
    (kind: keyof typeof tooMuch, resource: Resource, held: (value: string) => string) => async (name: string) => {
      const object =
        bytes > BOUNDS.webhook.ofReview ? undefined : await readData(api, resource, namespace, name, signal);
      const entries = Object.entries(object?.data ?? {}).map(([key, value]) => [key, held(value)] as const);
      bytes += entries.reduce((sum, [key, value]) => sum + WEIGHT_OF_KEY + key.length + memoryOf(value), 0);
      if (bytes <= BOUNDS.webhook.ofReview) return object && Object.fromEntries(entries);
      tooMuch[kind].set(name, TOO_MUCH);
      return undefined;
    };
  const readSecret = reader('secrets', SECRETS, () => PRESENT);
  const readConfigMap = reader('configMaps', CONFIG_MAPS, (text) => text);
  const [secrets, configMaps] = await Promise.all([
    readMissing(names.secrets, snapshot.secrets, readSecret),
    readMissing(names.configMaps, snapshot.configMaps, readConfigMap),
  ]);
  return {
    ...snapshot,
    secrets,
    configMaps,
    refused: {
      secrets: byName([...Object.entries(refused?.secrets ?? {}), ...tooMuch.secrets]),
      configMaps: byName([...Object.entries(refused?.configMaps ?? {}), ...tooMuch.configMaps]),
    },
  };
}
