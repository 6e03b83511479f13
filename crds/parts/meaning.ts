import type { z } from 'zod';

/** Returns a schema with the description of another field of the same meaning. */
export function meaning<S extends z.ZodType>(field: z.ZodType, schema: S): S {
  return schema.describe(field.description ?? '');
}
