type Scalar = string | number | boolean;

/** A value that is there but that policies cannot read. Every operator errs on it, and it equals no other value. */
interface Unreadable {
  readonly unreadable: string;
}

/** What Cedar gets of a claim or an argument. No object of the caller's ever reaches it, so neither do its escapes. */
export type PolicyValue = Scalar | readonly Scalar[] | Unreadable;

const MAX_SET = 1_000;

function isScalar(value: unknown): value is Scalar {
  if (typeof value === 'string') return value.isWellFormed();
  return typeof value === 'boolean' || Number.isSafeInteger(value);
}

/**
 * A claim or an argument as String, Long, Bool or Set of these; undefined where it is absent or null. Whatever else it is
 * (a fraction, a number that JavaScript cannot hold exactly, an object, a nested or very long list, broken Unicode) stays
 * there as an unreadable value: were it dropped, a `forbid` that asks `has` first would let it pass.
 * @param name what the value is called: keeps two unreadable values from being equal
 */
export function normaliseValue(name: string, value: unknown): PolicyValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (isScalar(value)) return value;
  if (Array.isArray(value) && value.length <= MAX_SET && value.every(isScalar)) return value;
  return { unreadable: name };
}
