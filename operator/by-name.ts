/** Returns an object without a prototype: a resource may be named `constructor`, which every plain object has. */
export function byName<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.setPrototypeOf(Object.fromEntries(entries), null) as Record<string, T>;
}
