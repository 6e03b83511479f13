import { z } from 'zod';

const Schema = z.object({
  $ref: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  additionalProperties: z.unknown().optional(),
});

/** Returns the paths of the input fields that hold no other field, in schema order. `*` stands for an entry of a list or a map. */
export function jsonSchemaLeaves(shape: z.ZodType): string[] {
  const { $defs = {}, ...root } = z.toJSONSchema(shape, { io: 'input' });
  return [...leavesBelow(root, $defs, [])];
}

function* leavesBelow(schema: unknown, defs: Record<string, unknown>, path: readonly string[]): Generator<string> {
  const { $ref, properties, items, additionalProperties: values } = Schema.parse(schema);
  if ($ref !== undefined) yield* leavesBelow(defs[$ref.replace('#/$defs/', '')], defs, path);
  else if (properties !== undefined) {
    for (const [name, inner] of Object.entries(properties)) yield* leavesBelow(inner, defs, [...path, name]);
  } else if (items !== undefined) yield* leavesBelow(items, defs, [...path, '*']);
  else if (typeof values === 'object' && values !== null) yield* leavesBelow(values, defs, [...path, '*']);
  else yield path.join('.');
}
