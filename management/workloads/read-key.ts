import { ownValue } from '#operator/plan/own-value';
import type { Read } from '#operator/plan/read-config-map-block';
import type { StoredConfigMap } from '../stores/config-maps.ts';

/** What a key of a ConfigMap says; undefined where it is not there or not in force, as the status of the workload tells. */
export function readKey<T>(
  map: Pick<StoredConfigMap, 'data'> | undefined,
  key: string,
  read: (text: string) => Read<T>,
): T | undefined {
  const text = ownValue(map?.data, key);
  const found = text === undefined ? undefined : read(text);
  return found && 'data' in found ? found.data : undefined;
}
