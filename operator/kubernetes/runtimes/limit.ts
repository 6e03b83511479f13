/**
 * Lets at most so many run at once. The others wait in order, those of each group in a row of their own, and the rows take turns: a
 * namespace whose pods do not answer holds up its own.
 */
export function limitTo(most: number): <T>(group: string, work: () => Promise<T>) => Promise<T> {
  const rows = new Map<string, (() => void)[]>();
  let running = 0;
  const takeNext = (): (() => void) | undefined => {
    for (const [group, row] of rows) {
      const next = row.shift();
      rows.delete(group);
      if (row.length > 0) rows.set(group, row);
      if (next) return next;
    }
    return undefined;
  };
  const turn = (group: string) =>
    new Promise<void>((resolve) => {
      const row = rows.get(group);
      if (row) row.push(resolve);
      else rows.set(group, [resolve]);
    });
  return async (group, work) => {
    if (running >= most) await turn(group);
    else running++;
    try {
      return await work();
    } finally {
      const next = takeNext();
      if (next) next();
      else running--;
    }
  };
}
