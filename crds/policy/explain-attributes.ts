import type { Expr } from '@cedar-policy/cedar-wasm/nodejs';
import { nearest } from '../parts/nearest.ts';
import { viewExpression } from './expression.ts';
import { nameOf, type ParsedPolicy } from './parse.ts';
import { ARGUMENT, BACKEND, CLAIM, CLIENT, GROUP, isRequestAttribute, RESOURCE_TYPES } from './vocabulary.ts';

const OWNERS = ['principal', 'resource', 'context'] as const;
type Owner = (typeof OWNERS)[number];

/** Attributes of the principal, the resource and the context of a request, besides claims and arguments. */
export type KnownAttributes = Readonly<
  Record<Owner, { readonly attributes: readonly string[]; readonly hasTags: boolean }>
>;

function meantBy(owner: Owner, attribute: string, known: KnownAttributes): string | undefined {
  if (attribute.startsWith(ARGUMENT)) return `\`context.${attribute}\``;
  if (attribute.startsWith(CLAIM)) return `\`principal.${attribute}\``;
  const near = nearest(attribute, known[owner].attributes);
  if (near !== undefined) return `\`${near}\``;
  if (owner === 'resource') return undefined;
  if (/^claims?$/i.test(attribute)) return `\`${CLAIM}<name>\``;
  const name = attribute.replace(/^(?:claim|arg)_/i, '');
  if (owner === 'principal') return `\`${CLAIM}${name}\``;
  return /^arg(?:ument)?s?$/i.test(attribute)
    ? `\`${ARGUMENT}<name>\``
    : `\`${ARGUMENT}${name}\` or \`${CLAIM}${name}\``;
}

function question(meant: string | undefined): string {
  return meant === undefined ? '' : ` (did you mean ${meant}?)`;
}

const RESOURCES = Object.values(RESOURCE_TYPES).join('|');
const NOT_FOUND = new RegExp(
  `attribute \`([^\`]+)\` (?:on entity type \`(?:${CLIENT}|(${RESOURCES}))\`|(in context)) not found`,
);
const HINT = / \((?:did you mean|maybe you meant) `([^`]+)`\?\)/;
const UNKNOWN_TYPE = /unrecognized entity type `([^`]+)`/;
const TYPES = [CLIENT, GROUP, BACKEND, ...Object.values(RESOURCE_TYPES)].join(', ');
const TAG = new RegExp(`access to tag \`"([^"]+)"\` on entity type \`${CLIENT}\`( \\(.*\\))?`);

/** Adds the nearest known name to a message about an unknown one. Cedar suggests the most similar name at any distance. */
export function explainUnknown(problem: string, known: KnownAttributes): string {
  return explainType(problem) ?? explainTag(problem, known) ?? explainAttribute(problem, known) ?? problem;
}

function explainType(problem: string): string | undefined {
  const [, type] = UNKNOWN_TYPE.exec(problem) ?? [];
  if (type === undefined) return undefined;
  const [, suggested = ''] = HINT.exec(problem) ?? [];
  return nearest(type, [suggested]) === undefined ? `${problem.replace(HINT, '')} (requests have ${TYPES})` : problem;
}

function explainTag(problem: string, known: KnownAttributes): string | undefined {
  const [, tag, hint = ''] = TAG.exec(problem) ?? [];
  if (tag === undefined || known.principal.hasTags) return undefined;
  return problem.replace(hint, '') + question(meantBy('principal', tag, known));
}

function explainAttribute(problem: string, known: KnownAttributes): string | undefined {
  const [, attribute, ofResource, inContext] = NOT_FOUND.exec(problem) ?? [];
  if (attribute === undefined) return undefined;
  const ofEntity = ofResource === undefined ? 'principal' : 'resource';
  const owner = inContext === undefined ? ofEntity : 'context';
  return problem.replace(HINT, '') + question(meantBy(owner, attribute, known));
}

/** Returns a warning for each `has` and `hasTag` of an unknown attribute: Cedar accepts them, and they are never true. */
export function findImpossibleHas(policies: readonly ParsedPolicy[], known: KnownAttributes): string[] {
  const found = policies.flatMap((policy) =>
    policy.json.conditions.flatMap(({ body }) =>
      impossibleIn(body, known).map(
        ({ test, meant }) => `${nameOf(policy)}: \`${test}\` is never true${question(meant)}`,
      ),
    ),
  );
  return [...new Set(found)];
}

interface Impossible {
  readonly test: string;
  readonly meant: string | undefined;
}

function impossibleIn(expr: Expr, known: KnownAttributes): Impossible[] {
  const { operands } = viewExpression(expr);
  const inside = operands.flatMap((operand) => impossibleIn(operand, known));
  const itself = impossibleHas(expr, known) ?? impossibleTag(expr, known);
  return itself === undefined ? inside : [...inside, itself];
}

function impossibleHas(expr: Expr, known: KnownAttributes): Impossible | undefined {
  const { head, operands } = viewExpression(expr);
  const owner = ownerOf(operands[0]);
  if (head.kind !== 'has' || owner === undefined) return undefined;
  const [attribute] = head.attributes;
  if (attribute === undefined || known[owner].attributes.includes(attribute)) return undefined;
  const isFilled =
    owner === 'context' ? isRequestAttribute(attribute) : owner === 'principal' && attribute.startsWith(CLAIM);
  return isFilled ? undefined : { test: `${owner} has ${attribute}`, meant: meantBy(owner, attribute, known) };
}

function impossibleTag(expr: Expr, known: KnownAttributes): Impossible | undefined {
  const { head, operands } = viewExpression(expr);
  if (head.kind !== 'operator' || head.operator !== 'hasTag') return undefined;
  const owner = ownerOf(operands[0]);
  const tag = operands[1] && viewExpression(operands[1]).head;
  if (owner === undefined || known[owner].hasTags || tag?.kind !== 'value' || typeof tag.value !== 'string')
    return undefined;
  const meant = owner === 'principal' ? meantBy(owner, tag.value, known) : undefined;
  return { test: `${owner}.hasTag(${JSON.stringify(tag.value)})`, meant };
}

function ownerOf(expr: Expr | undefined): Owner | undefined {
  if (expr === undefined) return undefined;
  const { head } = viewExpression(expr);
  return head.kind === 'variable' ? OWNERS.find((owner) => owner === head.name) : undefined;
}
