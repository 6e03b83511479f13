interface Property {
  $ref?: string;
  items?: { $ref?: string };
  additionalProperties?: { $ref?: string } | boolean;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-patch-merge-key'?: string;
}
type Definitions = Record<string, { properties?: Record<string, Property> }>;

/** Returns the definition inside a property, and the path below it. */
function insideOf({ $ref, items }: Property, path: string): { name: string; path: string } | undefined {
  const name = definitionOf(items?.$ref ?? $ref);
  return name === undefined ? undefined : { name, path: items ? `${path}[]` : path };
}

const definitionOf = (reference: string | undefined) => reference?.split('/').at(-1);

/**
 * Returns how the API server merges the lists of a definition, from its OpenAPI document (v2). Maps the path of a list to the key of its
 * items; null for plain values. `[]` stands for the items of a list on the path.
 */
export function readMergeKeys(definitions: Definitions, root: string): Record<string, string | null> {
  const found: Record<string, string | null> = {};
  function look(name: string, path: string, above: string[]): void {
    for (const [field, property] of Object.entries(definitions[name]?.properties ?? {})) {
      const here = path === '' ? field : `${path}.${field}`;
      const strategy = property['x-kubernetes-patch-strategy']?.split(',') ?? [];
      if (strategy.includes('merge')) found[here] = property['x-kubernetes-patch-merge-key'] ?? null;
      const inside = insideOf(property, here);
      if (inside && !above.includes(inside.name)) look(inside.name, inside.path, [...above, inside.name]);
    }
  }
  look(root, '', [root]);
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}
