/** No field of our kinds is half as deep, and what reads a resource by recursion has room for many times as much. */
const DEEPEST = 100;

/** Stands for what is too deep: no field has it, so the plan refuses it where it stands. */
const TOO_DEEP = 'nested too deep to be read';

/**
 * Takes away what is nested deeper than any of our fields: an API server keeps ten thousand levels of a field that it does not
 * know. Changes its argument, and returns it.
 */
export function cutDepth<T extends object>(value: T, left = DEEPEST): T {
  for (const [key, inside] of Object.entries(value)) {
    if (typeof inside !== 'object' || inside === null) continue;
    if (left === 0) Object.defineProperty(value, key, { value: TOO_DEEP });
    else cutDepth(inside as object, left - 1);
  }
  return value;
}
