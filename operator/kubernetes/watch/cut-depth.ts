/** More than twice the depth of any field of vmcp's kinds, and far below the limit of recursive readers. */
const DEEPEST = 100;

/** Replaces a value that is too deep. No field accepts it, so the planner rejects it at its path. */
const TOO_DEEP = 'nested too deep to be read';

/** Replaces deep values in place: an API server stores ten thousand levels of an unknown field. Returns its argument. */
export function cutDepth<T extends object>(value: T, left = DEEPEST): T {
  for (const [key, inside] of Object.entries(value)) {
    if (typeof inside !== 'object' || inside === null) continue;
    if (left === 0) Object.defineProperty(value, key, { value: TOO_DEEP });
    else cutDepth(inside as object, left - 1);
  }
  return value;
}
