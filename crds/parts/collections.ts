import { z } from 'zod';

/** Returns the schema of a map with at most `max` entries. The CRD has the same bound, but cannot check key names. */
export function mapOf<K extends z.ZodType<string, string>, V extends z.ZodType>(key: K, value: V, max: number) {
  return z
    .record(key, value)
    .refine((map) => Object.keys(map).length <= max, `has more than ${max} entries; remove some`)
    .meta({ maxProperties: max });
}

/** Returns the schema of a list of objects identified by required fields. The API server merges its entries by them. */
export function listByKey<T extends z.ZodType<object>>(item: T, max: number, ...keys: [string, ...string[]]) {
  return z
    .array(item)
    .max(max)
    .superRefine((list, context) => {
      const seen = new Map<string, number>();
      for (const [index, entry] of list.entries()) {
        const fields = entry as Record<string, unknown>;
        const id = JSON.stringify(keys.map((key) => fields[key]));
        const first = seen.get(id);
        seen.set(id, first ?? index);
        if (first === undefined) continue;
        const message = `the same ${keys.join(' and ')} as entry [${first}]; give each entry its own`;
        context.addIssue({ code: 'custom', message, path: [index, keys[keys.length - 1] ?? ''] });
      }
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });
}
