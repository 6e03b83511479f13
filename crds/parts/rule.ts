import type { z } from 'zod';

type Path = readonly [string, ...string[]];

/** A rule that spans fields: a refinement in zod and, where CEL can say it, a validation of the API server. */
export interface Rule<T = unknown> {
  /** The field that is reported, below the object that has the rule. */
  at: readonly string[];
  /** What is wrong; what to do. */
  message: string;
  /** True for what is allowed. Defaults are already there, on both sides. */
  holds: (value: T) => boolean;
  /** The same in CEL, about `self`. Absent where CEL cannot say it. */
  cel?: string;
}

interface Validation {
  rule: string;
  message: string;
  fieldPath?: string;
}

/** Adds rules to a schema: refinements now, CEL when the CRD is generated. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  const refined = schema.superRefine((value, context) => {
    for (const { at, message, holds } of rules) {
      if (!holds(value)) context.addIssue({ code: 'custom', message, path: [...at] });
    }
  });
  const earlier = (schema.meta()?.['x-kubernetes-validations'] ?? []) as Validation[];
  const validations = rules.flatMap(({ cel, message, at }): Validation[] =>
    cel === undefined ? [] : [{ rule: cel, message, ...(at.length > 0 && { fieldPath: fieldPath(at) }) }],
  );
  return refined.meta({ 'x-kubernetes-validations': [...earlier, ...validations] });
}

/** Two places for one value: both at once must say the same. */
export function agree(a: Path, b: Path, remedy: string): Rule {
  return {
    at: b,
    message: `differs from ${a.join('.')}; ${remedy}`,
    holds: (value) => !has(value, a) || !has(value, b) || valueAt(value, a) === valueAt(value, b),
    cel: `!(${celHas(a)}) || !(${celHas(b)}) || ${celPath(a)} == ${celPath(b)}`,
  };
}

/** Two fields of which at most one may be written. The second is reported. */
export function notBoth(a: Path, b: Path, remedy = `keep one of ${a.join('.')} and ${b.join('.')}`): Rule {
  return {
    at: b,
    message: `not allowed beside ${a.join('.')}; ${remedy}`,
    holds: (value) => !has(value, a) || !has(value, b),
    cel: `!(${celHas(a)}) || !(${celHas(b)})`,
  };
}

/** Fields of one object of which exactly one must be written. */
export function exactlyOne(...fields: [string, string, ...string[]]): Rule {
  const count = (value: unknown) => fields.filter((field) => has(value, [field])).length;
  return {
    at: [],
    message: `needs exactly one of ${fields.join(' and ')}; write one of them and remove the others`,
    holds: (value) => count(value) === 1,
    cel: `[${fields.map((field) => celHas([field])).join(', ')}].filter(written, written).size() == 1`,
  };
}

/** A field that is of use only with another one. */
export function needs(field: Path, other: Path): Rule {
  return {
    at: field,
    message: `needs ${other.join('.')}; write it, or remove ${field.join('.')}`,
    holds: (value) => !has(value, field) || has(value, other),
    cel: `!(${celHas(field)}) || (${celHas(other)})`,
  };
}

/** `self.a.b` in CEL, reserved words escaped as the API server wants them. `root` is another variable than self. */
export function celPath(path: readonly string[], root = 'self'): string {
  return [root, ...path.map((field) => (RESERVED.has(field) ? `__${field}__` : field))].join('.');
}

/** That a path is there, every step of it. */
export function celHas(path: readonly string[], root = 'self'): string {
  return path.map((_, index) => `has(${celPath(path.slice(0, index + 1), root)})`).join(' && ');
}

/** A CEL string literal. */
export function celString(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** The value at a path of an object; undefined where a step is missing. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, field) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[field] : undefined),
    value,
  );
}

const has = (value: unknown, path: readonly string[]) => valueAt(value, path) !== undefined;
const fieldPath = (at: readonly string[]) => at.map((field) => `.${field}`).join('');

const RESERVED = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
);
