import type { EntityUidJson, Expr, PolicyJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { entityReference, writeUid, type UserEntity } from './entities.ts';
import { viewExpression } from './expression.ts';
import { nameOf, type ParsedPolicy } from './parse.ts';
import { RESOURCE_TYPES } from './vocabulary.ts';

/** A tool, prompt or resource that a policy names. */
export interface NamedResource {
  /** `Tool`, `Prompt` or `Resource`; undefined in `resource.name == "…"`, which may mean each of them. */
  readonly type: string | undefined;
  readonly id: string;
  /** The policy, as messages call it. */
  readonly policy: string;
}

const TYPES = new Set(Object.values(RESOURCE_TYPES));

/** The tools, prompts and resources that policies name. A parent of user entities is a group, not a name. */
export function findNamedResources(
  policies: readonly ParsedPolicy[],
  entities: readonly UserEntity[],
): readonly NamedResource[] {
  const groups = new Set(entities.flatMap(({ parents }) => parents.map(writeUid)));
  const found = new Map<string, NamedResource>();
  for (const policy of policies) {
    const add = (type: string | undefined, id: string) =>
      found.set(JSON.stringify([policy.key, type, id]), { type, id, policy: nameOf(policy) });
    const addUid = (uid: TypeAndId) => {
      if (TYPES.has(uid.type) && !groups.has(writeUid(uid))) add(uid.type, uid.id);
    };
    const named = namedInScope(policy.json);
    if (named !== undefined) addUid(named);
    for (const { body } of policy.json.conditions) visit(body, addUid, (name) => add(undefined, name));
  }
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

function visit(expr: Expr, addUid: (uid: TypeAndId) => void, addName: (name: string) => void): void {
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'value') {
    const uid = entityReference(head.value);
    if (uid !== undefined) addUid(uid);
  }
  if (head.kind === 'operator' && head.operator === '==' && operands.some(isResourceName)) {
    for (const operand of operands) {
      const { head: other } = viewExpression(operand);
      if (other.kind === 'value' && typeof other.value === 'string') addName(other.value);
    }
  }
  for (const operand of operands) visit(operand, addUid, addName);
}

function isResourceName(expr: Expr): boolean {
  const { head, operands } = viewExpression(expr);
  if (head.kind !== 'get' || head.attribute !== 'name') return false;
  return operands.every((operand) => {
    const { head: of } = viewExpression(operand);
    return of.kind === 'variable' && of.name === 'resource';
  });
}
