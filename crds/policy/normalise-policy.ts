import type { Clause, EntityUidJson, Expr, PolicyJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { viewExpression } from './expression.ts';
import { ACTION_ALIASES } from './vocabulary.ts';

/** Cedar reads JSON up to 128 levels, two per level of an expression. Slightly deeper expressions overflow the evaluator's stack. */
const MAX_DEPTH = 50;
const MAX_CONDITIONS = 64;

class Refused extends Error {}

/** Replaces action aliases and balances chains of `&&` and `||`. @returns the policy; or its fault, as a string that follows its name */
export function normalisePolicy(policy: PolicyJson): PolicyJson | string {
  if (policy.conditions.length > MAX_CONDITIONS) return `has more than ${MAX_CONDITIONS} conditions: split it`;
  try {
    const conditions = policy.conditions.map((clause): Clause => ({
      kind: clause.kind,
      body: normalise(clause.body, 0),
    }));
    return { ...policy, action: normaliseActionScope(policy.action), conditions };
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

function normaliseActionScope(scope: PolicyJson['action']): PolicyJson['action'] {
  if (scope.op === 'in' && 'entities' in scope) return { op: 'in', entities: scope.entities.map(unaliasUid) };
  if (scope.op !== 'All' && 'entity' in scope) return { ...scope, entity: unaliasUid(scope.entity) };
  return scope;
}

function unaliasUid(uid: EntityUidJson): EntityUidJson {
  return '__entity' in uid ? { __entity: unalias(uid.__entity) } : unalias(uid);
}

function unalias(uid: TypeAndId): TypeAndId {
  const action = uid.type === 'Action' ? ACTION_ALIASES.get(uid.id) : undefined;
  return action === undefined ? uid : { type: 'Action', id: action };
}

function normalise(expr: Expr, depth: number): Expr {
  if (depth > MAX_DEPTH) throw new Refused(`is nested deeper than ${MAX_DEPTH} levels: split it`);
  const view = viewExpression(expr);
  if (view.head.kind === 'value') return normaliseValue(expr, view.head.value);
  const { head } = view;
  if (head.kind === 'operator' && (head.operator === '&&' || head.operator === '||')) {
    const links = flattenChain(expr, head.operator);
    const below = depth + Math.ceil(Math.log2(links.length));
    return balance(
      head.operator,
      links.map((link) => normalise(link, below)),
    );
  }
  return view.rebuild(view.operands.map((operand) => normalise(operand, depth + 1)));
}

function normaliseValue(expr: Expr, value: unknown): Expr {
  // JavaScript numbers lose digits beyond this limit. Policies cannot read such an argument either.
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new Refused(`compares with a number beyond ±${Number.MAX_SAFE_INTEGER}: use a smaller one`);
  }
  if (typeof value === 'object' && value !== null && '__entity' in value) {
    const uid = value.__entity;
    if (isTypeAndId(uid)) return { Value: { __entity: unalias(uid) } };
  }
  return expr;
}

function isTypeAndId(value: unknown): value is TypeAndId {
  return typeof value === 'object' && value !== null && 'type' in value && 'id' in value;
}

/** Returns the operands of a chain of one operator, left to right, without recursion, as a chain may be long. */
export function flattenChain(expr: Expr, operator: '&&' | '||'): Expr[] {
  const links: Expr[] = [];
  const waiting: Expr[] = [expr];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { head, operands } = viewExpression(next);
    if (head.kind === 'operator' && head.operator === operator) waiting.push(...[...operands].reverse());
    else links.push(next);
  }
  return links;
}

function balance(operator: '&&' | '||', links: readonly Expr[]): Expr {
  const [only] = links;
  if (links.length === 1 && only !== undefined) return only;
  const middle = Math.ceil(links.length / 2);
  const left = balance(operator, links.slice(0, middle));
  const right = balance(operator, links.slice(middle));
  return operator === '&&' ? { '&&': { left, right } } : { '||': { left, right } };
}
