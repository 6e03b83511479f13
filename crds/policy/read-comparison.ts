import type { Expr, Var } from '@cedar-policy/cedar-wasm/nodejs';
import { viewExpression } from './expression.ts';

export type Literal = string | number | boolean;

interface Access {
  readonly variable: Var;
  readonly attribute: string;
}

/** An attribute of a variable that a policy compares with literals only. */
interface Comparison extends Access {
  readonly values: readonly Literal[];
}

const OPERATORS: ReadonlySet<string> = new Set([
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'contains',
  'containsAll',
  'containsAny',
  'isEmpty',
]);

/** Parses `resource.name == "…"`, `["…"].contains(resource.name)` and similar; returns undefined for any other expression. */
export function readComparison(expr: Expr): Comparison | undefined {
  const { head, operands } = viewExpression(expr);
  if (head.kind !== 'operator' || !OPERATORS.has(head.operator)) return undefined;
  const accesses = operands.flatMap((operand) => readAccess(operand) ?? []);
  const literals = operands.flatMap((operand) => readLiterals(operand) ?? []);
  const [access] = accesses;
  const isOther = (operand: Expr) => readAccess(operand) === undefined && readLiterals(operand) === undefined;
  if (access === undefined || accesses.length > 1 || operands.some(isOther)) return undefined;
  return { ...access, values: literals };
}

/** Parses `principal.claim_role` or `resource.name`; returns undefined for any other expression. */
export function readAccess(expr: Expr): Access | undefined {
  const { head, operands } = viewExpression(expr);
  const [operand] = operands;
  if (head.kind !== 'get' || operand === undefined) return undefined;
  const { head: of } = viewExpression(operand);
  return of.kind === 'variable' ? { variable: of.name, attribute: head.attribute } : undefined;
}

function readLiterals(expr: Expr): readonly Literal[] | undefined {
  const { head, operands } = viewExpression(expr);
  if (head.kind === 'value') return isLiteral(head.value) ? [head.value] : undefined;
  if (head.kind !== 'set') return undefined;
  const literals = operands.flatMap((operand) => {
    const { head: of } = viewExpression(operand);
    return of.kind === 'value' && isLiteral(of.value) ? [of.value] : [];
  });
  return literals.length === operands.length ? literals : undefined;
}

function isLiteral(value: unknown): value is Literal {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
