export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  nullable?: boolean;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  additionalProperties?: SchemaNode | false;
  propertyNames?: SchemaNode;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
  allOf?: SchemaNode[];
  /** Kind of the object that the field `name` refers to. */
  refersTo?: string;
  /** Replaces this node in a CRD. */
  structural?: SchemaNode;
  'x-kubernetes-validations'?: { rule: string; message: string; fieldPath?: string }[];
  'x-kubernetes-preserve-unknown-fields'?: true;
  'x-kubernetes-int-or-string'?: true;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
}

/** Yields a node and all nodes below it, with their paths: `spec.tools[].name`, `spec.env{}` for the values of a map. */
export function* nodesOf(node: SchemaNode, path = ''): Generator<[path: string, node: SchemaNode]> {
  yield [path, node];
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    yield* nodesOf(child, path === '' ? name : `${path}.${name}`);
  }
  if (node.items !== undefined) yield* nodesOf(node.items, `${path}[]`);
  if (typeof node.additionalProperties === 'object') yield* nodesOf(node.additionalProperties, `${path}{}`);
  // The API server prescribes its alternatives; they are not fields.
  if (node['x-kubernetes-int-or-string']) return;
  for (const child of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])])
    yield* nodesOf(child, path);
}

/** Returns whether a node contains no other field: a scalar, or an object of unknown fields. */
export const isLeaf = ({ properties, items, additionalProperties }: SchemaNode): boolean =>
  properties === undefined && items === undefined && typeof additionalProperties !== 'object';

export function leavesOf(node: SchemaNode, path = ''): Map<string, SchemaNode> {
  return new Map([...nodesOf(node, path)].filter(([, inner]) => isLeaf(inner)));
}
