type Scalar = string | number | boolean;

/** A present value that policies cannot read. Every operator fails on it, and it equals no other value. */
interface Unreadable {
  readonly unreadable: string;
}

/** Form in which Cedar gets a claim or an argument. Objects of the caller, with their JSON escapes, never reach Cedar. */
export type PolicyValue = Scalar | readonly Scalar[] | Unreadable;

const MAX_SET = 1_000;

function isScalar(value: unknown): value is Scalar {
  if (typeof value === 'string') return value.isWellFormed();
  return typeof value === 'boolean' || Number.isSafeInteger(value);
}

/**
 * Returns a claim or an argument as String, Long, Bool or Set of these; undefined if absent or null. Other values (fraction, unsafe
 * number, object, nested or very long list, invalid Unicode) become an unreadable value. If they were dropped, a `forbid` that first
 * checks `has` would allow the call. @param name name of the value: keeps two unreadable values from being equal
 */
export function normaliseValue(name: string, value: unknown): PolicyValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (isScalar(value)) return value;
  if (Array.isArray(value) && value.length <= MAX_SET && value.every(isScalar)) return value;
  return { unreadable: name };
}
