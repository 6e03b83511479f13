import type { Expr, PatternElem, Var } from '@cedar-policy/cedar-wasm/nodejs';
import { viewExpression } from '#crds/policy/expression';
import type { ParsedPolicy } from '#crds/policy/parse';
import { readAccess, readComparison, type Literal } from '#crds/policy/read-comparison';
import { createPatternMatcher } from './match-pattern.ts';
import type { PolicyValue } from './normalise-value.ts';

/** Returns the class of a value. Values of one class have the same type and the same outcome for each comparison in the policies. */
export type ValueClassifier = (value: PolicyValue | undefined) => unknown;

/** All comparisons of one attribute in the policies, as long as `isReadWhole` is false. */
interface AttributeTests {
  readonly literals: Set<Literal>;
  readonly patterns: (readonly PatternElem[])[];
  isReadWhole: boolean;
}

type Tests = Map<string, AttributeTests>;

/** If policies only compare an attribute with literals, the outcomes are its class. Otherwise its value is its class. */
export function createValueClassifiers(
  policies: readonly ParsedPolicy[],
  variables: readonly Var[],
  attributes: readonly string[],
): readonly ValueClassifier[] {
  const tests: Tests = new Map();
  for (const { json } of policies) for (const { body } of json.conditions) visit(body, variables, tests);
  return attributes.map((attribute) => createValueClassifier(tests.get(attribute)));
}

function testsOf(tests: Tests, attribute: string): AttributeTests {
  const known = tests.get(attribute) ?? { literals: new Set<Literal>(), patterns: [], isReadWhole: false };
  tests.set(attribute, known);
  return known;
}

function visit(expr: Expr, variables: readonly Var[], tests: Tests): void {
  if (addTest(expr, variables, tests)) return;
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'get') testsOf(tests, head.attribute).isReadWhole = true;
  for (const operand of operands) visit(operand, variables, tests);
}

/** Adds a `like`, or a comparison that `readComparison` reads. @returns false for any other expression */
function addTest(expr: Expr, variables: readonly Var[], tests: Tests): boolean {
  const { head, operands } = viewExpression(expr);
  const [matched] = head.kind === 'like' ? operands.map(readAccess) : [];
  if (head.kind === 'like' && matched !== undefined && variables.includes(matched.variable)) {
    testsOf(tests, matched.attribute).patterns.push(head.pattern);
    return true;
  }
  const comparison = readComparison(expr);
  if (comparison === undefined || !variables.includes(comparison.variable)) return false;
  const { literals } = testsOf(tests, comparison.attribute);
  for (const value of comparison.values) literals.add(value);
  return true;
}

function createValueClassifier(tests: AttributeTests | undefined): ValueClassifier {
  if (tests === undefined || tests.isReadWhole) return (value) => value;
  const { literals, patterns } = tests;
  const matchers = patterns.map(createPatternMatcher);
  const known = [...literals];
  const countBelow = (value: number) => known.filter((each) => typeof each === 'number' && each < value).length;
  return (value) => {
    if (typeof value === 'string') return literals.has(value) ? value : matchers.map((matches) => matches(value));
    if (typeof value === 'number') return literals.has(value) ? value : { above: countBelow(value) };
    if (!isSet(value)) return value;
    const elements = new Set(value);
    return { holds: known.filter((each) => elements.has(each)), others: value.some((each) => !literals.has(each)) };
  };
}

function isSet(value: PolicyValue | undefined): value is readonly Literal[] {
  return Array.isArray(value);
}
