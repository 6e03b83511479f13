/** Processes the items with limited concurrency. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  each: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await each(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Returns the given quantile of a sorted list. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
