import type { EntityUidJson, Expr, PolicyJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { entityReference, writeUid, type UserEntity } from './entities.ts';
import { viewExpression } from './expression.ts';
import { nameOf, type ParsedPolicy } from './parse.ts';
import { readComparison } from './read-comparison.ts';
import { BACKEND, RESOURCE_TYPES } from './vocabulary.ts';

export interface NamedResource {
  /** `Tool`, `Prompt`, `Resource` or `Backend`; undefined for `resource.name == "…"`, which may be any of them. */
  readonly type: string | undefined;
  readonly id: string;
  /** Whether it is the backend's own name, as in `resource.original_name == "…"`. */
  readonly isOriginal?: boolean;
  /** Name of the policy in messages, or `entitiesJson`. */
  readonly policy: string;
}

const TYPES = new Set([...Object.values(RESOURCE_TYPES), BACKEND]);

/** Returns the tools, prompts, resources and backends in policies and user entities. A parent of user entities is a group. */
export function findNamedResources(
  policies: readonly ParsedPolicy[],
  entities: readonly UserEntity[],
): readonly NamedResource[] {
  const groups = new Set(entities.flatMap(({ parents }) => parents.map(writeUid)));
  const found = new Map<string, NamedResource>();
  const add = (key: string, one: NamedResource) =>
    found.set(JSON.stringify([key, one.type, one.id, one.isOriginal]), one);
  const addUid = (key: string, { type, id }: TypeAndId, policy: string) => {
    if (TYPES.has(type) && !groups.has(writeUid({ type, id }))) add(key, { type, id, policy });
  };
  for (const policy of policies) {
    const [key, name] = [policy.key, nameOf(policy)];
    const addCompared = (attribute: string, id: string) => {
      if (attribute === 'backend') add(key, { type: BACKEND, id, policy: name });
      if (attribute === 'name') add(key, { type: undefined, id, policy: name });
      if (attribute === 'original_name') add(key, { type: undefined, id, isOriginal: true, policy: name });
    };
    const named = namedInScope(policy.json);
    if (named !== undefined) addUid(key, named, name);
    for (const { body } of policy.json.conditions) visit(body, (uid) => addUid(key, uid, name), addCompared);
  }
  for (const { uid } of entities) addUid('', uid, 'entitiesJson');
  return [...found.values()];
}

function namedInScope({ resource }: PolicyJson): TypeAndId | undefined {
  if (resource.op === 'All') return undefined;
  const constraint = resource.op === 'is' ? resource.in : resource;
  return constraint !== undefined && 'entity' in constraint ? plainUid(constraint.entity) : undefined;
}

function plainUid(uid: EntityUidJson): TypeAndId {
  return '__entity' in uid ? uid.__entity : uid;
}

function visit(
  expr: Expr,
  addUid: (uid: TypeAndId) => void,
  addCompared: (attribute: string, id: string) => void,
): void {
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'value') {
    const uid = entityReference(head.value);
    if (uid !== undefined) addUid(uid);
  }
  const { variable, attribute = '', values = [] } = readComparison(expr) ?? {};
  for (const value of values) if (variable === 'resource' && typeof value === 'string') addCompared(attribute, value);
  for (const operand of operands) visit(operand, addUid, addCompared);
}
