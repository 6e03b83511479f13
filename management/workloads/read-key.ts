import { ownValue } from '#operator/plan/own-value';
import type { Read } from '#operator/plan/read-config-map-block';
import type { StoredConfigMap } from '../stores/config-maps.ts';

/** Returns undefined when the key is missing or inactive, as the workload's status reports. */
export function readKey<T>(
  map: Pick<StoredConfigMap, 'data'> | undefined,
  key: string,
  read: (text: string) => Read<T>,
): T | undefined {
  const text = ownValue(map?.data, key);
  const found = text === undefined ? undefined : read(text);
  return found && 'data' in found ? found.data : undefined;
}
