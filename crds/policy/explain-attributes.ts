import type { Expr } from '@cedar-policy/cedar-wasm/nodejs';
import { nearest } from '../parts/nearest.ts';
import { viewExpression } from './expression.ts';
import { nameOf, type ParsedPolicy } from './parse.ts';
import { ARGUMENT, CLAIM, CLIENT, isRequestAttribute } from './vocabulary.ts';

type Owner = 'principal' | 'context';

/** Attributes of the principal and of the context that a request can have besides claims and arguments. */
export type KnownAttributes = Readonly<Record<Owner, readonly string[]>>;

function meantBy(owner: Owner, attribute: string): string {
  return owner === 'principal' ? `\`${CLAIM}${attribute}\`` : `\`${ARGUMENT}${attribute}\` or \`${CLAIM}${attribute}\``;
}

const NOT_FOUND = new RegExp(`attribute \`([^\`]+)\` (?:on entity type \`${CLIENT}\`|(in context)) not found`);
const HINT = / \((?:did you mean|maybe you meant) `([^`]+)`\?\)/;

/** Adds the prefix that is probably missing to Cedar's message about an unknown attribute. */
export function suggestPrefix(problem: string): string {
  const [, attribute, inContext] = NOT_FOUND.exec(problem) ?? [];
  if (attribute === undefined || isRequestAttribute(attribute)) return problem;
  // Cedar suggests the most similar attribute, however different it is.
  const suggested = HINT.exec(problem)?.[1];
  if (suggested !== undefined && nearest(attribute, [suggested]) !== undefined) return problem;
  const meant = meantBy(inContext === undefined ? 'principal' : 'context', attribute);
  return `${problem.replace(HINT, '')} (did you mean ${meant}?)`;
}

/** Returns a warning for each `has` of an attribute that no request has: Cedar accepts it, and it is never true. */
export function findImpossibleHas(policies: readonly ParsedPolicy[], known: KnownAttributes): string[] {
  const found = policies.flatMap((policy) =>
    policy.json.conditions.flatMap(({ body }) =>
      impossibleIn(body, known).map(
        ([owner, attribute]) =>
          `${nameOf(policy)}: \`${owner} has ${attribute}\` is never true (did you mean ${meantBy(owner, attribute)}?)`,
      ),
    ),
  );
  return [...new Set(found)];
}

function impossibleIn(expr: Expr, known: KnownAttributes): [Owner, string][] {
  const { head, operands } = viewExpression(expr);
  const inside = operands.flatMap((operand) => impossibleIn(operand, known));
  if (head.kind !== 'has') return inside;
  const [attribute] = head.attributes;
  const owner = ownerOf(operands[0]);
  if (attribute === undefined || owner === undefined) return inside;
  if (isRequestAttribute(attribute) || known[owner].includes(attribute)) return inside;
  return [...inside, [owner, attribute]];
}

function ownerOf(expr: Expr | undefined): Owner | undefined {
  if (expr === undefined) return undefined;
  const { head } = viewExpression(expr);
  if (head.kind !== 'variable') return undefined;
  return head.name === 'principal' || head.name === 'context' ? head.name : undefined;
}
