import type { z } from 'zod';

type Schema = z.core.$ZodType;

export function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at = alternatives(schema);
  for (const step of path) at = at.flatMap((alternative) => below(alternative, step).flatMap(alternatives));
  return [...new Set(at.flatMap((alternative) => Object.keys(shapeOf(alternative))))];
}

/** Returns a schema without wrappers: an object, list, map or scalar; several of them for a union. */
function alternatives(schema: Schema): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return alternatives(def.innerType);
    case 'pipe':
      return alternatives(def.in);
    case 'lazy':
      return alternatives(def.getter());
    case 'union':
      return def.options.flatMap(alternatives);
    default:
      return [schema];
  }
}

/** Returns the fields of an object, optional or not, or those of the items of a list or map. */
export function fieldsOf(schema: Schema): Readonly<Record<string, Schema>> {
  const [inner = schema] = alternatives(schema);
  const { def } = (inner as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return fieldsOf(def.element);
  return def.type === 'record' ? fieldsOf(def.valueType) : shapeOf(inner);
}

function below(schema: Schema, step: PropertyKey): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'array') return [def.element];
  if (def.type === 'record') return [def.valueType];
  const field = shapeOf(schema)[String(step)];
  return field === undefined ? [] : [field];
}

function shapeOf(schema: Schema): Readonly<Record<string, Schema>> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return def.type === 'object' ? def.shape : {};
}
