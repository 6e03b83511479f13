import type { Expr } from '@cedar-policy/cedar-wasm/nodejs';
import { viewExpression } from './expression.ts';

/** An attribute of the resource that a policy compares with literals. */
interface Comparison {
  readonly attribute: string;
  readonly values: readonly string[];
}

const OPERATORS: ReadonlySet<string> = new Set(['==', '!=', 'contains']);

/** Reads `resource.name == "…"`, `!=` and `["…"].contains(resource.name)`; undefined for any other expression. */
export function readComparison(expr: Expr): Comparison | undefined {
  const { head, operands } = viewExpression(expr);
  if (head.kind !== 'operator' || !OPERATORS.has(head.operator)) return undefined;
  const attribute = operands.map(resourceAttribute).find((name) => name !== undefined);
  const others = operands.filter((operand) => resourceAttribute(operand) === undefined).map(readStrings);
  const [values] = others;
  if (attribute === undefined || others.length !== 1 || values === undefined) return undefined;
  return { attribute, values };
}

/** Returns the attribute in `resource.<attribute>`; undefined for any other expression. */
export function resourceAttribute(expr: Expr): string | undefined {
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
  const strings = operands.flatMap((operand) => {
    const { head: of } = viewExpression(operand);
    return of.kind === 'value' && typeof of.value === 'string' ? [of.value] : [];
  });
  return strings.length === operands.length ? strings : undefined;
}
