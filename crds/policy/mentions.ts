import type { Expr, PolicyJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { entityReference, referencesOf, type UserEntity } from './entities.ts';
import { viewExpression } from './expression.ts';
import { ANONYMOUS, ARGUMENT, CLAIM, CLIENT, RESERVED_RESOURCE_ATTRIBUTES } from './vocabulary.ts';

/** The parts of a request that policies can read. A decision depends only on these, the action, and the uid of the resource. */
export interface Mentions {
  /** Names of claims, without `claim_`. Sorted. */
  readonly claims: readonly string[];
  /** Names of arguments, without `arg_`. Sorted. */
  readonly args: readonly string[];
  /** Attributes of the resource that requests set. Sorted. */
  readonly resourceAttributes: readonly string[];
  /** Whether `context` is used as a whole record, so that all claims and arguments count. */
  readonly wholeContext: boolean;
  /** Whether the principal may be used as an entity, so that its uid and parents count. False only if that is certain. */
  readonly principal: boolean;
  readonly literals: readonly TypeAndId[];
}

interface Found {
  readonly attributes: Set<string>;
  readonly literals: TypeAndId[];
  wholeContext: boolean;
  principal: boolean;
}

/** Returns what a set of policies reads. The user's `entities` may lead from any entity to a principal. */
export function findMentions(policies: readonly { json: PolicyJson }[], entities: readonly UserEntity[]): Mentions {
  const clients = entities.some((entity) => [...referencesOf(entity)].some(({ type }) => type === CLIENT));
  const found: Found = { attributes: new Set(), literals: [], wholeContext: false, principal: clients };
  for (const { json } of policies) {
    if (json.principal.op !== 'All' && (json.principal.op !== 'is' || json.principal.in !== undefined)) {
      found.principal = true;
    }
    for (const { body } of json.conditions) visit(body, found);
  }
  const named = [...found.attributes].sort();
  const behind = (prefix: string) =>
    named.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  return {
    claims: behind(CLAIM),
    args: behind(ARGUMENT),
    resourceAttributes: named.filter((name) => RESERVED_RESOURCE_ATTRIBUTES.includes(name)),
    wholeContext: found.wholeContext,
    principal: found.principal,
    literals: found.literals,
  };
}

export function readsCaller({ principal, claims, wholeContext }: Mentions): boolean {
  return principal || claims.length > 0 || wholeContext;
}

/** Returns whether policies or entities name `Client::"anonymous"`, the caller of an endpoint without logins. */
export function namesAnonymous(
  policies: readonly { json: PolicyJson }[],
  entities: readonly UserEntity[],
  { literals }: Mentions,
): boolean {
  const scopes = policies.flatMap(({ json: { principal } }) => {
    if (principal.op === 'All') return [];
    const named = principal.op === 'is' ? principal.in : principal;
    return named !== undefined && 'entity' in named ? [entityReference({ __entity: named.entity })] : [];
  });
  const inEntities = entities.flatMap((entity) => [...referencesOf(entity)]);
  return [...scopes, ...literals, ...inEntities].some((one) => one?.type === CLIENT && one.id === ANONYMOUS);
}

/** Returns whether an expression reads an argument of the call, or a record that contains all of them. */
export function readsArguments(expr: Expr): boolean {
  const found: Found = { attributes: new Set(), literals: [], wholeContext: false, principal: false };
  visit(expr, found);
  return found.wholeContext || [...found.attributes].some((name) => name.startsWith(ARGUMENT));
}

function visitLiteral(value: unknown, found: Found): void {
  const reference = entityReference(value);
  if (reference === undefined) return;
  found.literals.push(reference);
  // For one of the callers, this is the principal.
  if (reference.type === CLIENT) found.principal = true;
}

function visit(expr: Expr, found: Found): void {
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'variable') {
    if (head.name === 'context') found.wholeContext = true;
    if (head.name === 'principal') found.principal = true;
  } else if (head.kind === 'value') {
    visitLiteral(head.value, found);
  } else if (head.kind === 'get' || head.kind === 'has') {
    visitAttribute(head.kind === 'get' ? [head.attribute] : head.attributes, operands, found);
  } else {
    for (const operand of operands) visit(operand, found);
  }
}

/** An attribute of `principal`, `resource` or `context` itself is a value; that of another expression may belong to any entity. */
function visitAttribute(attributes: readonly string[], operands: readonly Expr[], found: Found): void {
  for (const attribute of attributes) found.attributes.add(attribute);
  for (const operand of operands) {
    const { head } = viewExpression(operand);
    if (head.kind !== 'variable') visit(operand, found);
    else if (head.name === 'principal' && !attributes.every((name) => name.startsWith(CLAIM))) found.principal = true;
  }
}
