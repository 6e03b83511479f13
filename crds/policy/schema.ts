import type { ActionType, EntityType, NamespaceDefinition, SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';
import { referencesOf, type UserEntity, writeUid } from './entities.ts';
import {
  mergeAttributes,
  mergeTypes,
  toSchemaAttributes,
  toSchemaType,
  typeOfValue,
  type ValueType,
} from './value-type.ts';
import { ACTIONS, BACKEND, CLAIM, CLIENT, GROUP, HINT_TYPES, NAME_ATTRIBUTES, RESOURCE_TYPES } from './vocabulary.ts';

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

interface EntityShape {
  attributes: ReadonlyMap<string, ValueType>;
  readonly parents: Set<string>;
  tags: ValueType | undefined;
}

export type EntityShapes = Map<string, EntityShape>;

export function shapeEntities(entities: readonly UserEntity[]): { shapes: EntityShapes; problems: readonly string[] } {
  const shapes = requestShapes();
  const problems: string[] = [];
  entities.forEach((entity, index) => {
    for (const { type } of referencesOf(entity)) shapeOf(shapes, type);
    const problem = addEntity(shapeOf(shapes, entity.uid.type), entity);
    if (problem !== undefined) problems.push(`entitiesJson[${index}]: ${writeUid(entity.uid)} ${problem}`);
  });
  return { shapes, problems };
}

function requestShapes(): EntityShapes {
  const shapes: EntityShapes = new Map();
  shapeOf(shapes, GROUP).parents.add(GROUP);
  shapeOf(shapes, CLIENT).parents.add(GROUP);
  shapeOf(shapes, BACKEND);
  const attributes = new Map<string, ValueType>([
    ...NAME_ATTRIBUTES.map((name): [string, ValueType] => [name, { kind: 'String' }]),
    ...Object.entries(HINT_TYPES).map(([name, kind]): [string, ValueType] => [name, { kind }]),
  ]);
  for (const type of Object.values(RESOURCE_TYPES)) {
    const shape = shapeOf(shapes, type);
    shape.attributes = attributes;
    shape.parents.add(BACKEND);
  }
  return shapes;
}

function shapeOf(shapes: EntityShapes, type: string): EntityShape {
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const shape: EntityShape = { attributes: new Map(), parents: new Set(), tags: undefined };
  shapes.set(type, shape);
  return shape;
}

function addEntity(shape: EntityShape, entity: UserEntity): string | undefined {
  const attributes = new Map<string, ValueType>();
  for (const [name, value] of Object.entries(entity.attrs)) {
    const type = typeOfValue(value);
    if (type === undefined) return `mixes types in the list of ${name}: use one type`;
    attributes.set(name, type);
  }
  const merged = mergeAttributes(shape.attributes, attributes);
  if (typeof merged === 'string') {
    return `gives ${merged} another type than other entities of type ${entity.uid.type} do: use one type`;
  }
  for (const value of Object.values(entity.tags ?? {})) {
    const type = typeOfValue(value);
    const tags = type && mergeTypes(shape.tags, type);
    if (tags === undefined) return `has tags of different types: use one type for all tags of ${entity.uid.type}`;
    shape.tags = tags;
  }
  shape.attributes = merged;
  for (const { type } of entity.parents) shape.parents.add(type);
  return undefined;
}
