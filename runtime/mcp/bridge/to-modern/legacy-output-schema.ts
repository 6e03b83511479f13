import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';

/** Members whose values are data, so that `$ref` in them is no reference. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Members whose keys are names that the author chose, and whose values are schemas. */
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'],
]);
const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef']);

/** Revisions up to 2025-11-25 have only output schemas of objects: another schema becomes that of the member `result`. */
export function wrappedSchema(schema: unknown): JsonObject {
  const dialect = isJsonObject(schema) ? schema.$schema : undefined;
  return {
    ...(typeof dialect === 'string' ? { $schema: dialect } : {}),
    type: 'object',
    properties: { result: withMovedRefs(asObject(schema), false) },
    required: ['result'],
  };
}

/** JSON Schema 2020-12 §4.3.2. */
export function asObject(schema: unknown): unknown {
  if (schema === true) return {};
  return schema === false ? { not: {} } : schema;
}

/** A reference from the root of the document now begins at `result`. */
function withMovedRefs(schema: unknown, isNamed: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withMovedRefs(one, false));
  if (!isJsonObject(schema) || (!isNamed && hasOwnBase(schema))) return schema;
  const move = (key: string, value: unknown) => {
    if (isNamed) return withMovedRefs(value, false);
    if (REFERENCES.has(key)) return movedRef(value);
    return DATA.has(key) ? value : withMovedRefs(value, NAMED.has(key));
  };
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, move(key, value)]));
}

/** References resolve against `$id`, wherever the schema stands. A fragment is no base, but a name. */
function hasOwnBase({ $id }: JsonObject): boolean {
  return typeof $id === 'string' && !$id.startsWith('#');
}

function movedRef(reference: unknown): unknown {
  if (typeof reference !== 'string' || (reference !== '#' && !reference.startsWith('#/'))) return reference;
  return `#/properties/result${reference.slice(1)}`;
}
