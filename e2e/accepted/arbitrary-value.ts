import fc from 'fast-check';
import type { z } from 'zod';

type Schema = z.core.$ZodType;
type Arb = fc.Arbitrary<unknown>;

/** Known values by field name and by the mark of a schema. The generator drops values that the schema rejects. */
export interface Known {
  readonly byField: Readonly<Record<string, readonly unknown[]>>;
  /** Values for schemas with `meta({ refersTo })`. */
  readonly byReference: Readonly<Record<string, readonly unknown[]>>;
  /** Texts tried with every string schema: usual ones, and ones that a schema easily accepts by mistake. */
  readonly texts: readonly string[];
  /** Fields that the generator never writes. */
  readonly without: ReadonlySet<string>;
}

const accepts = (schema: Schema, value: unknown) => (schema as z.ZodType).safeParse(value).success;
const issuesOf = (schema: Schema, value: unknown) => (schema as z.ZodType).safeParse(value).error?.issues ?? [];
/** Returns bounds and patterns in zod's internal form. */
const checksOf = (schema: Schema) =>
  ((schema as z.core.$ZodTypes)._zod.def.checks ?? []).map(
    (check) => check._zod.def as { readonly minimum?: number; readonly pattern?: RegExp },
  );
const hasRules = (schema: Schema) => ((schema as z.core.$ZodTypes)._zod.def.checks?.length ?? 0) > 0;

function isOptional(schema: Schema): boolean {
  const { type } = (schema as z.core.$ZodTypes)._zod.def;
  return type === 'optional' || type === 'default' || type === 'prefault';
}

function knownValues(schema: Schema, field: string, known: Known): unknown[] {
  const refersTo = (schema as z.ZodType).meta()?.refersTo;
  const values = [
    ...(Object.hasOwn(known.byField, field) ? (known.byField[field] ?? []) : []),
    ...(typeof refersTo === 'string' ? (known.byReference[refersTo] ?? []) : []),
  ];
  return values.filter((value) => accepts(schema, value));
}

function text(schema: z.core.$ZodString, known: Known): Arb {
  const fitting = known.texts.filter((one) => accepts(schema, one));
  const pattern = checksOf(schema).find((check) => check.pattern !== undefined)?.pattern;
  const free = pattern === undefined ? fc.string({ maxLength: 12 }) : matching(pattern);
  if (fitting.length === 0) return free;
  // A random text rarely satisfies a refinement, so a known text replaces it.
  const any = free.map((one) => (accepts(schema, one) ? one : fitting[0]));
  return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...fitting) }, any);
}

function matching(pattern: RegExp): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(pattern, { size: '-1' });
  } catch {
    return fc.string({ maxLength: 12 });
  }
}

function number(schema: z.core.$ZodNumber): Arb {
  const { minValue, maxValue } = schema as z.ZodNumber;
  const [minimum, maximum] = [Math.max(minValue ?? 0, -1), maxValue ?? 1_000_000];
  const max = Math.min(maximum, 2_000_000);
  return fc.oneof(fc.constantFrom(minimum, max), fc.integer({ min: minimum, max }));
}

/** Returns the fields that a problem names in its path or in its message. */
function concerned(issues: readonly z.core.$ZodIssue[], fields: readonly string[]): string[] {
  const words = new Set(issues.flatMap(({ path, message }) => [String(path[0]), ...message.split(/[^A-Za-z0-9]+/)]));
  return fields.filter((field) => words.has(field));
}

/** Satisfies rules between fields: removes or adds fields as long as the number of problems falls. */
function obey(
  schema: Schema,
  whole: Record<string, unknown>,
  chosen: Record<string, unknown>,
  required: ReadonlySet<string>,
): Record<string, unknown> {
  let [value, left] = [chosen, issuesOf(schema, chosen)];
  for (let round = 0; round < 2 && left.length > 0; round++) {
    for (const field of concerned(left, Object.keys(whole))) {
      const { [field]: present, ...without } = value;
      if (present !== undefined && required.has(field)) continue;
      const other = present === undefined ? { ...value, [field]: whole[field] } : without;
      const issues = issuesOf(schema, other);
      if (issues.length < left.length) [value, left] = [other, issues];
    }
  }
  return value;
}

function object(schema: z.core.$ZodObject, known: Known): Arb {
  const fields = Object.entries(schema._zod.def.shape).filter(([field]) => !known.without.has(field));
  const values = Object.fromEntries(fields.map(([field, inner]) => [field, arbitraryValue(inner, field, known)]));
  const dice = Object.fromEntries(
    fields.map(([field, inner]) => [field, isOptional(inner) ? fc.integer({ min: 0, max: 9 }) : fc.constant(0)]),
  );
  const required = new Set(fields.filter(([, inner]) => !isOptional(inner)).map(([field]) => field));
  const anyFields = fc.tuple(fc.record(values), fc.record(dice), fc.integer({ min: 1, max: 5 }));
  return anyFields.map(([whole, thrown, share]) => {
    const chosen = Object.fromEntries(Object.entries(whole).filter(([field]) => (thrown[field] ?? 0) < share));
    return hasRules(schema) ? obey(schema, whole, chosen, required) : chosen;
  });
}

function list(schema: z.core.$ZodArray, field: string, known: Known): Arb {
  const minimum = checksOf(schema).find((check) => check.minimum !== undefined)?.minimum ?? 0;
  const lists = fc.array(arbitraryValue(schema._zod.def.element, field, known), { minLength: minimum, maxLength: 2 });
  return lists.map((entries) => (accepts(schema, entries) ? entries : entries.slice(0, Math.max(1, minimum))));
}

function map({ _zod: { def } }: z.core.$ZodRecord, known: Known): Arb {
  const entry = fc.tuple(arbitraryValue(def.keyType, 'key', known), arbitraryValue(def.valueType, 'value', known));
  return fc.array(entry, { maxLength: 2 }).map((entries) => Object.fromEntries(entries) as object);
}

function scalar(schema: Schema, known: Known): Arb {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'string':
      return text(schema as z.core.$ZodString, known);
    case 'number':
      return number(schema as z.core.$ZodNumber);
    case 'boolean':
      return fc.boolean();
    case 'enum':
      return fc.constantFrom(...Object.values(def.entries));
    case 'literal':
      return fc.constantFrom(...def.values);
    default:
      return fc.constant({});
  }
}

/** Generates values of a schema, most of which it accepts. `field`: the name of the field that holds the value. */
export function arbitraryValue(schema: Schema, field: string, known: Known): Arb {
  const values = knownValues(schema, field, known);
  if (values.length > 0) return fc.constantFrom(...values);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'default':
    case 'prefault':
      return arbitraryValue(def.innerType, field, known);
    case 'pipe':
      return arbitraryValue(def.in, field, known);
    case 'object':
      return object(schema as z.core.$ZodObject, known);
    case 'array':
      return list(schema as z.core.$ZodArray, field, known);
    case 'record':
      return map(schema as z.core.$ZodRecord, known);
    case 'union':
      return fc.oneof(...def.options.map((option) => arbitraryValue(option, field, known)));
    default:
      return scalar(schema, known);
  }
}
