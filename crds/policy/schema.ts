import type { ActionType, EntityType, NamespaceDefinition, SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { EntityShape, EntityShapes } from './entity-types.ts';
import { toSchemaAttributes, toSchemaType, type ValueType } from './value-type.ts';
import { ACTIONS, CLAIM, CLIENT, RESOURCE_TYPES } from './vocabulary.ts';

interface SchemaParts {
  readonly shapes: EntityShapes;
  /** Type of each `claim_*` and `arg_*` in the policies. */
  readonly requestAttributes: ReadonlyMap<string, ValueType>;
  /** Whether attributes are always present, so that policies need no `has`. With false, Cedar checks both branches of each `has`. */
  readonly required: boolean;
}

/** Returns the Cedar schema of one policy set. It validates policies, never requests. */
export function buildSchema({ shapes, requestAttributes, required }: SchemaParts): SchemaJson<string> {
  const claims = new Map([...requestAttributes].filter(([name]) => name.startsWith(CLAIM)));
  const namespaces: Record<string, NamespaceDefinition<string>> = { '': { entityTypes: {}, actions: {} } };
  for (const [type, shape] of shapes) {
    const split = type.lastIndexOf('::');
    const namespace = (namespaces[type.slice(0, Math.max(split, 0))] ??= { entityTypes: {}, actions: {} });
    const attributes = type === CLIENT ? new Map([...shape.attributes, ...claims]) : shape.attributes;
    namespace.entityTypes[split < 0 ? type : type.slice(split + 2)] = buildEntityType(
      { ...shape, attributes },
      required,
    );
  }
  const context = { type: 'Record' as const, attributes: toSchemaAttributes(requestAttributes, required) };
  const actions = ACTIONS.map((action): [string, ActionType<string>] => [
    action,
    { appliesTo: { principalTypes: [CLIENT], resourceTypes: [RESOURCE_TYPES[action]], context } },
  ]);
  return {
    ...namespaces,
    '': { entityTypes: namespaces['']?.entityTypes ?? {}, actions: Object.fromEntries(actions) },
  };
}

function buildEntityType(shape: EntityShape, required: boolean): EntityType<string> {
  return {
    memberOfTypes: [...shape.parents],
    shape: { type: 'Record', attributes: toSchemaAttributes(shape.attributes, required) },
    ...(shape.tags === undefined ? {} : { tags: toSchemaType(shape.tags, required) }),
  };
}
