import type { z } from 'zod';

type Path = readonly [string, ...string[]];

/** A rule across fields: a zod refinement and, if expressible, a CEL validation of the API server. */
export interface Rule<T = unknown> {
  /** The reported field, relative to the object with the rule. */
  at: readonly string[];
  /** The fault and its remedy. */
  message: string;
  /** Returns whether a value is allowed. Defaults are set before, in zod and in the API server. */
  holds: (value: T) => boolean;
  /** Returns the reported fields in place of `at`, for a rule about entries of a list. */
  places?: (value: T) => (string | number)[][];
  /** The same rule in CEL, about `self`; absent if CEL cannot express it. */
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
    for (const { at, message, holds, places } of rules) {
      if (holds(value)) continue;
      for (const path of places?.(value) ?? [[...at]]) context.addIssue({ code: 'custom', message, path });
    }
  });
  const earlier = (schema.meta()?.['x-kubernetes-validations'] ?? []) as Validation[];
  const validations = rules.flatMap(({ cel, message, at }): Validation[] =>
    cel === undefined ? [] : [{ rule: cel, message, ...(at.length > 0 && { fieldPath: fieldPath(at) }) }],
  );
  return refined.meta({ 'x-kubernetes-validations': [...earlier, ...validations] });
}

/** Returns a rule for a value with two paths: if both are set, they must agree. */
export function agree(a: Path, b: Path, remedy: string): Rule {
  return {
    at: b,
    message: `differs from ${a.join('.')}; ${remedy}`,
    holds: (value) => !has(value, a) || !has(value, b) || valueAt(value, a) === valueAt(value, b),
    cel: `!(${celHas(a)}) || !(${celHas(b)}) || ${celPath(a)} == ${celPath(b)}`,
  };
}

/** Returns a rule for two fields that exclude each other. It reports the second one. */
export function notBoth(a: Path, b: Path, remedy = `keep one of ${a.join('.')} and ${b.join('.')}`): Rule {
  return {
    at: b,
    message: `not allowed beside ${a.join('.')}; ${remedy}`,
    holds: (value) => !has(value, a) || !has(value, b),
    cel: `!(${celHas(a)}) || !(${celHas(b)})`,
  };
}

/** Returns a rule for fields of one object, of which exactly one must be set. */
export function exactlyOne(...fields: [string, string, ...string[]]): Rule {
  const count = (value: unknown) => fields.filter((field) => has(value, [field])).length;
  return {
    at: [],
    message: `needs exactly one of ${fields.join(' and ')}; write one of them and remove the others`,
    holds: (value) => count(value) === 1,
    cel: `[${fields.map((field) => celHas([field])).join(', ')}].filter(written, written).size() == 1`,
  };
}

/** Returns a rule for a field that requires another one. */
export function needs(field: Path, other: Path): Rule {
  return {
    at: field,
    message: `needs ${other.join('.')}; write it, or remove ${field.join('.')}`,
    holds: (value) => !has(value, field) || has(value, other),
    cel: `!(${celHas(field)}) || (${celHas(other)})`,
  };
}

/** Returns `self.a.b` in CEL, with reserved words escaped for the API server. `root` replaces self. */
export function celPath(path: readonly string[], root = 'self'): string {
  return [root, ...path.map((field) => (RESERVED.has(field) ? `__${field}__` : field))].join('.');
}

/** Returns a CEL test that every step of a path is set. */
export function celHas(path: readonly string[], root = 'self'): string {
  return path.map((_, index) => `has(${celPath(path.slice(0, index + 1), root)})`).join(' && ');
}

/** Returns a CEL string literal. */
export function celString(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Returns the value at a path of an object; undefined if a step is missing. */
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
