import type { z } from 'zod';

/** A schema with the description of another field that means the same. */
export function meaning<S extends z.ZodType>(field: z.ZodType, schema: S): S {
  return schema.describe(field.description ?? '');
}
