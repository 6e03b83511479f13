import { z } from 'zod';
import { fieldsOf } from './known-fields.ts';
import { Milliseconds } from './primitives.ts';

/** Returns a schema with the description of another field of the same meaning. */
export function meaning<S extends z.ZodType>(field: z.ZodType, schema: S): S {
  return schema.describe(field.description ?? '');
}

/** Describes each field like the resource's field of the same name: `read_timeout` like `readTimeout`, also in a list or map. */
export function described<S extends Record<string, z.ZodType>>(resource: z.ZodType, fields: S): S {
  const known = new Map(Object.entries(fieldsOf(resource)).map(([name, field]) => [name.toLowerCase(), field]));
  const all = { ...fields };
  for (const [name, schema] of Object.entries(fields)) {
    const field = known.get(name.replaceAll('_', '').toLowerCase());
    const description = field && z.globalRegistry.get(field)?.description;
    if (description !== undefined && schema.description === undefined)
      Object.assign(all, { [name]: schema.describe(description) });
  }
  return all;
}

export const objectLike = <S extends Record<string, z.ZodType>>(resource: z.ZodType, fields: S) =>
  z.strictObject(described(resource, fields));

/** Returns the field of the run configuration for a duration of a resource: milliseconds, with the same default and description. */
export function inMilliseconds(field: z.ZodDefault<z.ZodType<string>>) {
  return meaning(field, Milliseconds.prefault(field.def.defaultValue));
}
