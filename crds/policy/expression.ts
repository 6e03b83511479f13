import type { CedarValueJson, Expr, PatternElem, Var } from '@cedar-policy/cedar-wasm/nodejs';

type Head =
  | { readonly kind: 'value'; readonly value: CedarValueJson }
  | { readonly kind: 'variable'; readonly name: Var }
  | { readonly kind: 'get'; readonly attribute: string }
  | { readonly kind: 'has'; readonly attributes: readonly string[] }
  | { readonly kind: 'record'; readonly attributes: readonly string[] }
  | { readonly kind: 'like'; readonly pattern: readonly PatternElem[] }
  | { readonly kind: 'set' | 'if' | 'slot' }
  | { readonly kind: 'is'; readonly entityType: string }
  | { readonly kind: 'operator'; readonly operator: string };

/** An expression of a policy: its operator, its operands in evaluation order, and a function to replace the operands. */
export interface View {
  readonly head: Head;
  readonly operands: readonly Expr[];
  rebuild(operands: readonly Expr[]): Expr;
}

function leaf(expr: Expr, head: Head): View {
  return { head, operands: [], rebuild: () => expr };
}

function pick(operands: readonly Expr[], index: number): Expr {
  const operand = operands[index];
  if (operand === undefined) throw new RangeError('an expression was rebuilt with too few operands');
  return operand;
}

function viewSpecial(expr: Expr): View | undefined {
  if ('Value' in expr) return leaf(expr, { kind: 'value', value: expr.Value });
  if ('Var' in expr && typeof expr.Var === 'string') return leaf(expr, { kind: 'variable', name: expr.Var });
  if ('Slot' in expr) return leaf(expr, { kind: 'slot' });
  if ('Set' in expr) {
    return { head: { kind: 'set' }, operands: expr.Set, rebuild: (operands) => ({ Set: [...operands] }) };
  }
  if ('Record' in expr && !Array.isArray(expr.Record)) {
    const attributes = Object.keys(expr.Record);
    const rebuild = (operands: readonly Expr[]): Expr => ({
      Record: Object.fromEntries(attributes.map((attribute, index) => [attribute, pick(operands, index)])),
    });
    return { head: { kind: 'record', attributes }, operands: Object.values(expr.Record), rebuild };
  }
  return viewAttribute(expr) ?? viewConditional(expr);
}

function viewAttribute(expr: Expr): View | undefined {
  if ('.' in expr && 'left' in expr['.']) {
    const { left, attr } = expr['.'];
    const rebuild = (operands: readonly Expr[]): Expr => ({ '.': { left: pick(operands, 0), attr } });
    return { head: { kind: 'get', attribute: attr }, operands: [left], rebuild };
  }
  if ('has' in expr && 'left' in expr.has) {
    const { left, attr } = expr.has;
    const attributes = typeof attr === 'string' ? [attr] : attr;
    const rebuild = (operands: readonly Expr[]): Expr => ({ has: { left: pick(operands, 0), attr: [...attributes] } });
    return { head: { kind: 'has', attributes }, operands: [left], rebuild };
  }
  return undefined;
}

function viewConditional(expr: Expr): View | undefined {
  if ('like' in expr && 'left' in expr.like) {
    const { left, pattern } = expr.like;
    const rebuild = (operands: readonly Expr[]): Expr => ({ like: { left: pick(operands, 0), pattern } });
    return { head: { kind: 'like', pattern }, operands: [left], rebuild };
  }
  if ('is' in expr && 'left' in expr.is) {
    const { left, entity_type: entityType, in: within } = expr.is;
    const rebuild = (operands: readonly Expr[]): Expr => {
      const is = { left: pick(operands, 0), entity_type: entityType };
      return { is: within === undefined ? is : { ...is, in: pick(operands, 1) } };
    };
    return {
      head: { kind: 'is', entityType },
      operands: within === undefined ? [left] : [left, within],
      rebuild,
    };
  }
  if ('if-then-else' in expr && 'if' in expr['if-then-else']) {
    const branch = expr['if-then-else'];
    const rebuild = (operands: readonly Expr[]): Expr => ({
      'if-then-else': { if: pick(operands, 0), then: pick(operands, 1), else: pick(operands, 2) },
    });
    return { head: { kind: 'if' }, operands: [branch.if, branch.then, branch.else], rebuild };
  }
  return undefined;
}

/** Returns the view of an expression in Cedar's JSON policy format (docs.cedarpolicy.com/policies/json-format.html). */
export function viewExpression(expr: Expr): View {
  const special = viewSpecial(expr);
  if (special !== undefined) return special;
  const [entry] = Object.entries(expr) as [string, Expr[] | { arg: Expr } | { left: Expr; right: Expr }][];
  if (entry === undefined) throw new TypeError('an expression has no operator');
  const [operator, body] = entry;
  const head: Head = { kind: 'operator', operator };
  if (Array.isArray(body)) {
    return { head, operands: body, rebuild: (operands) => ({ [operator]: [...operands] }) };
  }
  if ('arg' in body) {
    return { head, operands: [body.arg], rebuild: (operands) => operation(operator, { arg: pick(operands, 0) }) };
  }
  const rebuild = (operands: readonly Expr[]): Expr =>
    operation(operator, { left: pick(operands, 0), right: pick(operands, 1) });
  return { head, operands: [body.left, body.right], rebuild };
}

/** The compiler cannot infer that an operator of an expression is a key of `Expr`. */
function operation(operator: string, body: { arg: Expr } | { left: Expr; right: Expr }): Expr {
  return { [operator]: body } as unknown as Expr;
}
