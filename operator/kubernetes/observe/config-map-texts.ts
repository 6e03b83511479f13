import { memoryOf } from '#operator/text-memory';
import type { KubeObject } from '../api/object.ts';
import { type CachedValue, WEIGHT_OF_KEY } from '../watch/named-values.ts';

export function textsOf(configMap: KubeObject): CachedValue<Record<string, string>> {
  const value = (configMap.data ?? {}) as Record<string, string>;
  const bytes = Object.values(value).reduce((sum, text) => sum + WEIGHT_OF_KEY + memoryOf(text), 0);
  return { value, bytes };
}
