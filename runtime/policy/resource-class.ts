import type { Expr, PatternElem } from '@cedar-policy/cedar-wasm/nodejs';
import { viewExpression } from '#crds/policy/expression';
import type { Mentions } from '#crds/policy/mentions';
import type { ParsedPolicy } from '#crds/policy/parse';
import { readComparison, resourceAttribute } from '#crds/policy/read-comparison';
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
 * Puts resources that no policy can tell apart into one class: those that have none of the named `ids`, and the same parents and
 * attributes. Of an attribute that is only compared with literals, the outcomes count; of any other attribute, the value counts.
 */
export function createResourceClassifier(
  policies: readonly ParsedPolicy[],
  ids: ReadonlySet<string>,
  { resourceAttributes }: Mentions,
): ResourceClassifier {
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

/** Adds what `readComparison` reads, and `like`. @returns false for any other expression */
function addTest(expr: Expr, tests: Tests): boolean {
  const { head, operands } = viewExpression(expr);
  const matched = head.kind === 'like' ? operands.map(resourceAttribute).find((name) => name !== undefined) : undefined;
  if (head.kind === 'like' && matched !== undefined) {
    testsOf(tests, matched).patterns.push(head.pattern);
    return true;
  }
  const comparison = readComparison(expr);
  if (comparison === undefined) return false;
  const { values } = testsOf(tests, comparison.attribute);
  for (const value of comparison.values) values.add(value);
  return true;
}
