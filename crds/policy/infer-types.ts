import type { Expr } from '@cedar-policy/cedar-wasm/nodejs';
import { viewExpression, type View } from './expression.ts';
import { nameOf, type ParsedPolicy } from './parse.ts';
import type { ValueType } from './value-type.ts';
import { isRequestAttribute } from './vocabulary.ts';

/** A type during inference. `open` may be bound to any type; `other` is a type that no request attribute has. */
type Guess =
  { readonly kind: 'String' | 'Long' | 'Boolean' | 'other' } | { readonly kind: 'Set'; readonly element: Guess } | Open;

interface Open {
  readonly kind: 'open';
  /** The `claim_*` or `arg_*` of this type. */
  readonly attribute?: string;
  bound?: { readonly guess: Guess; readonly by: string };
}

export interface Reading {
  readonly type: ValueType;
  readonly by: string;
}

const LONG: Guess = { kind: 'Long' };
const BOOL: Guess = { kind: 'Boolean' };
const STRING: Guess = { kind: 'String' };
const OTHER: Guess = { kind: 'other' };

const LOGIC = new Set(['&&', '||', '!']);
const EQUALITY = new Set(['==', '!=']);
const ORDER = new Set(['<', '<=', '>', '>=']);
const ARITHMETIC = new Set(['+', '-', '*', 'neg']);
const MEMBERSHIP = new Set(['contains', 'containsAll', 'containsAny', 'isEmpty']);
const PREDICATES = new Set(['in', 'hasTag']);

/** Infers each attribute's types: several if policies disagree, and Cedar's validator decides. @param known types of entity attributes */
export function inferTypes(
  policies: readonly ParsedPolicy[],
  known: ReadonlyMap<string, ValueType>,
): ReadonlyMap<string, readonly Reading[]> {
  const inference = new Inference(known);
  for (const policy of policies) {
    inference.policy = nameOf(policy);
    for (const { body } of policy.json.conditions) inference.unify(inference.infer(body), BOOL);
  }
  return inference.readings();
}

class Inference {
  policy = '';
  readonly #known: ReadonlyMap<string, ValueType>;
  readonly #attributes = new Map<string, Open>();
  readonly #disputes = new Map<string, { guess: Guess; by: string }[]>();

  constructor(known: ReadonlyMap<string, ValueType>) {
    this.#known = known;
  }

  infer(expr: Expr): Guess {
    const view = viewExpression(expr);
    const operands = view.operands.map((operand) => this.infer(operand));
    switch (view.head.kind) {
      case 'value':
        return guessLiteral(view.head.value);
      case 'get':
        return this.#attribute(view.head.attribute);
      case 'has':
        for (const name of view.head.attributes) this.#attribute(name);
        return BOOL;
      case 'like':
        this.#unifyAll(operands, STRING);
        return BOOL;
      case 'is':
        return BOOL;
      case 'set':
        return { kind: 'Set', element: this.#unifyAll(operands, { kind: 'open' }) };
      case 'record':
        // The record is compared with `context`.
        view.head.attributes.forEach((name, index) => {
          if (isRequestAttribute(name)) this.unify(this.#attribute(name), operands[index] ?? OTHER);
        });
        return OTHER;
      case 'if':
        this.#unifyAll(operands.slice(0, 1), BOOL);
        return this.#unifyAll(operands.slice(1), { kind: 'open' });
      case 'operator':
        return this.#operator(view.head.operator, operands, view);
      default:
        return OTHER;
    }
  }

  #operator(operator: string, operands: readonly Guess[], view: View): Guess {
    if (LOGIC.has(operator)) return this.#unifyAll(operands, BOOL);
    if (ARITHMETIC.has(operator)) return this.#unifyAll(operands, LONG);
    if (PREDICATES.has(operator)) return BOOL;
    if (EQUALITY.has(operator)) {
      this.#unifyAll(operands, { kind: 'open' });
      return BOOL;
    }
    if (ORDER.has(operator)) {
      // Dates and durations are comparable, too, but no request has them.
      if (operands.every((operand) => resolve(operand).kind !== 'other')) this.#unifyAll(operands, LONG);
      return BOOL;
    }
    if (MEMBERSHIP.has(operator)) {
      this.#membership(operator, operands);
      return BOOL;
    }
    return view.operands.length === 0 ? OTHER : { kind: 'open' };
  }

  #membership(operator: string, operands: readonly Guess[]): void {
    const element: Guess = { kind: 'open' };
    const [set, other] = operands;
    if (set !== undefined) this.unify(set, { kind: 'Set', element });
    if (other !== undefined) this.unify(other, operator === 'contains' ? element : { kind: 'Set', element });
  }

  #attribute(name: string): Guess {
    if (!isRequestAttribute(name)) {
      const type = this.#known.get(name);
      return type === undefined ? { kind: 'open' } : guessOf(type);
    }
    const open = this.#attributes.get(name) ?? { kind: 'open', attribute: name };
    this.#attributes.set(name, open);
    return open;
  }

  #unifyAll(guesses: readonly Guess[], with_: Guess): Guess {
    for (const guess of guesses) this.unify(guess, with_);
    return with_;
  }

  unify(a: Guess, b: Guess): void {
    const left = resolve(a);
    const right = resolve(b);
    if (left === right) return;
    if (left.kind === 'open') this.#bind(left, right);
    else if (right.kind === 'open') this.#bind(right, left);
    else if (left.kind === 'Set' && right.kind === 'Set') this.unify(left.element, right.element);
    else if (left.kind !== right.kind) {
      this.#dispute(a, right);
      this.#dispute(b, left);
    }
  }

  #bind(open: Open, guess: Guess): void {
    if (guess.kind !== 'other' && !contains(guess, open)) open.bound = { guess, by: this.policy };
  }

  /** Records for each attribute on the way to a guess that this use has another type. */
  #dispute(from: Guess, guess: Guess): void {
    for (let step: Guess | undefined = from; step?.kind === 'open'; step = step.bound?.guess) {
      if (step.attribute === undefined || guess.kind === 'other') continue;
      const disputes = this.#disputes.get(step.attribute) ?? [];
      disputes.push({ guess, by: this.policy });
      this.#disputes.set(step.attribute, disputes);
    }
  }

  readings(): ReadonlyMap<string, readonly Reading[]> {
    return new Map(
      [...this.#attributes].map(([name, open]) => {
        const first = { guess: resolve(open), by: open.bound?.by ?? '' };
        const readings = new Map<string, Reading>();
        for (const { guess, by } of [first, ...(this.#disputes.get(name) ?? [])]) {
          const type = settle(guess);
          const key = JSON.stringify(type);
          if (!readings.has(key)) readings.set(key, { type, by });
        }
        return [name, [...readings.values()]];
      }),
    );
  }
}

function guessLiteral(value: unknown): Guess {
  if (typeof value === 'string') return STRING;
  if (typeof value === 'number') return LONG;
  return typeof value === 'boolean' ? BOOL : OTHER;
}

function guessOf(type: ValueType): Guess {
  if (type.kind === 'Set') return { kind: 'Set', element: type.element ? guessOf(type.element) : { kind: 'open' } };
  return type.kind === 'Entity' || type.kind === 'Extension' || type.kind === 'Record' ? OTHER : { kind: type.kind };
}

function resolve(guess: Guess): Guess {
  let step = guess;
  while (step.kind === 'open' && step.bound !== undefined) step = step.bound.guess;
  return step;
}

function contains(guess: Guess, open: Open): boolean {
  const step = resolve(guess);
  return step === open || (step.kind === 'Set' && contains(step.element, open));
}

/** Returns String for a type that no use restricts, as any type would do. Sets in a request contain no sets. */
function settle(guess: Guess): ValueType {
  const step = resolve(guess);
  if (step.kind === 'open' || step.kind === 'other') return { kind: 'String' };
  if (step.kind !== 'Set') return { kind: step.kind };
  const element = settle(step.element);
  return { kind: 'Set', element: element.kind === 'Set' ? { kind: 'String' } : element };
}
