import { z } from 'zod';
import type { SchemaNode } from './schema-node.ts';

export function structuralSchema(object: z.ZodType): SchemaNode {
  const { properties = {}, ...root } = jsonSchemaOf(object);
  const { spec = {}, status = {} } = properties;
  return {
    type: 'object',
    properties: {
      apiVersion: { type: 'string', description: 'Group and version.' },
      kind: { type: 'string', description: 'The kind.' },
      metadata: { type: 'object' },
      spec: structural(spec, { keepUnknown: true }),
      status: structural(status, { keepUnknown: false }),
    },
    ...(root.required?.includes('spec') === true && { required: ['spec'] }),
    ...pick(root, ['x-kubernetes-validations']),
  };
}

/** Returns zod's own translation of the input, before defaults. */
export function jsonSchemaOf(schema: z.ZodType): SchemaNode {
  return z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline' }) as SchemaNode;
}

const KEPT = [
  'description',
  'type',
  'format',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'nullable',
  'required',
  'const',
  'propertyNames',
  'anyOf',
  'oneOf',
  'allOf',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
] as const;

interface Where {
  keepUnknown: boolean;
  inList?: boolean;
}

/**
 * Objects below `spec` preserve unknown fields, so that the planner rejects a misspelt field by name. List entries have no defaults, as
 * kubectl compares lists whole and would find a difference each time; readers of a resource fill them in.
 */
function structural(node: SchemaNode, { keepUnknown, inList = false }: Where): SchemaNode {
  if (node.structural !== undefined) return { ...pick(node, ['description']), ...node.structural };
  const { properties, items, additionalProperties } = node;
  return {
    ...pick(node, KEPT),
    ...(node.type === 'integer' && { format: 'int64' }),
    ...(node.default !== undefined && !inList && { default: withDefaults(node.default, node) }),
    ...(items !== undefined && { items: structural(items, { keepUnknown, inList: true }) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, structural(child, { keepUnknown, inList })]),
      ),
      ...(keepUnknown && { 'x-kubernetes-preserve-unknown-fields': true as const }),
    }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: structural(additionalProperties, { keepUnknown, inList }),
    }),
  };
}

/** Writes out the defaults inside a default, as the API server validates it unchanged, including CEL. */
function withDefaults(value: unknown, node: SchemaNode): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const inner = filled[name] ?? child.default;
    if (inner !== undefined) filled[name] = withDefaults(inner, child);
  }
  return filled;
}

function pick<K extends keyof SchemaNode>(node: SchemaNode, keys: readonly K[]): Pick<SchemaNode, K> {
  return Object.fromEntries(keys.filter((key) => node[key] !== undefined).map((key) => [key, node[key]])) as Pick<
    SchemaNode,
    K
  >;
}
