/** By name, and by nothing else: a resource may be called `constructor`, which every plain object has. */
export function byName<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.setPrototypeOf(Object.fromEntries(entries), null) as Record<string, T>;
}
