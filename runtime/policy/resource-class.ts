import type { Expr, PatternElem } from '@cedar-policy/cedar-wasm/nodejs';
import { referencesOf, type UserEntity } from '#crds/policy/entities';
import { viewExpression } from '#crds/policy/expression';
import type { Mentions } from '#crds/policy/mentions';
import type { ParsedPolicy } from '#crds/policy/parse';
import type { PolicyResource } from './authorizer.ts';
import { createPatternMatcher } from './match-pattern.ts';
import type { PolicyValue } from './normalise-value.ts';

/** Returns the values that name the class of a resource, from the resource and the attributes that policies mention. */
export type ResourceClassifier = (
  resource: PolicyResource,
  attributes: Readonly<Record<string, PolicyValue>>,
) => readonly unknown[];

/** All that policies ask about one attribute, as long as `isReadWhole` is false. */
interface AttributeTests {
  readonly values: Set<string>;
  readonly patterns: (readonly PatternElem[])[];
  isReadWhole: boolean;
}

type Tests = Map<string, AttributeTests>;

/**
 * Puts resources that no policy can tell apart into one class. Cedar compares entities by their uid only and cannot read a uid as
 * text, so resources that neither policies nor user entities name are interchangeable if their parents and attributes are. Of an attribute
 * that is only compared with literals, the outcomes count; of any other attribute, the value counts.
 */
export function createResourceClassifier(
  policies: readonly ParsedPolicy[],
  entities: readonly UserEntity[],
  { resourceAttributes }: Mentions,
): ResourceClassifier {
  const ids = new Set(entities.flatMap((entity) => [...referencesOf(entity)].map(({ id }) => id)));
  for (const { json } of policies) collectIds(json, ids);
  const tests = findTests(policies);
  const classifiers = resourceAttributes.map((attribute) => {
    const classify = createValueClassifier(tests.get(attribute));
    return (attributes: Readonly<Record<string, PolicyValue>>) => classify(attributes[attribute]);
  });
  return ({ name, backend }, attributes) => [
    ids.has(name) ? name : null,
    ids.has(backend) ? backend : null,
    ...classifiers.map((classify) => classify(attributes)),
  ];
}

/** Adds the id of every entity in a policy's JSON form, of whatever type and wherever it stands. */
function collectIds(json: unknown, ids: Set<string>): void {
  if (typeof json !== 'object' || json === null) return;
  if ('id' in json && typeof json.id === 'string') ids.add(json.id);
  for (const inner of Object.values(json)) collectIds(inner, ids);
}

function createValueClassifier(tests: AttributeTests | undefined): (value: PolicyValue | undefined) => unknown {
  if (tests === undefined || tests.isReadWhole) return (value) => value;
  const matchers = tests.patterns.map(createPatternMatcher);
  return (value) => {
    if (typeof value !== 'string') return value;
    return [tests.values.has(value) ? value : null, ...matchers.map((matches) => matches(value))];
  };
}

function findTests(policies: readonly ParsedPolicy[]): Tests {
  const tests: Tests = new Map();
  for (const { json } of policies) for (const { body } of json.conditions) visit(body, tests);
  return tests;
}

function testsOf(tests: Tests, attribute: string): AttributeTests {
  const known = tests.get(attribute) ?? { values: new Set<string>(), patterns: [], isReadWhole: false };
  tests.set(attribute, known);
  return known;
}

function visit(expr: Expr, tests: Tests): void {
  if (addTest(expr, tests)) return;
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'get') testsOf(tests, head.attribute).isReadWhole = true;
  for (const operand of operands) visit(operand, tests);
}

/** Adds `resource.name == "…"`, `like` and `["…"].contains(resource.name)`. @returns false for any other expression */
function addTest(expr: Expr, tests: Tests): boolean {
  const { head, operands } = viewExpression(expr);
  const attribute = operands.map(resourceAttribute).find((name) => name !== undefined);
  if (attribute === undefined) return false;
  if (head.kind === 'like') {
    testsOf(tests, attribute).patterns.push(head.pattern);
    return true;
  }
  if (head.kind !== 'operator' || !['==', '!=', 'contains'].includes(head.operator)) return false;
  const literals = operands.filter((operand) => resourceAttribute(operand) === undefined).map(readStrings);
  const [values] = literals;
  if (literals.length !== 1 || values === undefined) return false;
  for (const value of values) testsOf(tests, attribute).values.add(value);
  return true;
}

function resourceAttribute(expr: Expr): string | undefined {
  const { head, operands } = viewExpression(expr);
  if (head.kind !== 'get') return undefined;
  const isOfResource = operands.every((operand) => {
    const { head: of } = viewExpression(operand);
    return of.kind === 'variable' && of.name === 'resource';
  });
  return isOfResource ? head.attribute : undefined;
}

/** The strings of a literal or of a set of literals; undefined: it holds something else. */
function readStrings(expr: Expr): readonly string[] | undefined {
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'value') return typeof head.value === 'string' ? [head.value] : undefined;
  if (head.kind !== 'set') return undefined;
  const strings = operands.map((operand) => viewExpression(operand).head);
  return strings.every((each) => each.kind === 'value' && typeof each.value === 'string')
    ? strings.flatMap((each) => (each.kind === 'value' && typeof each.value === 'string' ? [each.value] : []))
    : undefined;
}
