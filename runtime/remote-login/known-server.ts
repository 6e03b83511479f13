/** Milliseconds after which it is looked up again, while the present one serves. */
const MAX_AGE = 3_600_000;
/** After a failure nobody is asked again so soon. */
const COOL_DOWN = 2_000;

/** What was found is remembered, and found again in time; of many who ask at once, one asks. `now`: milliseconds since the epoch. */
export function rememberServer<T>(find: () => Promise<T>, now: () => number): () => Promise<T> {
  let found: { readonly value: T; readonly at: number } | undefined;
  let last: { readonly flight: Promise<T>; readonly until: number } | undefined;
  const begin = async (): Promise<T> => {
    try {
      const value = await find();
      found = { value, at: now() };
      last = undefined;
      return value;
    } catch (error) {
      if (last) last = { ...last, until: now() + COOL_DOWN };
      throw error;
    }
  };
  /** One that is under way, or has just failed, is everybody's. */
  const look = (): Promise<T> => {
    if (!last || now() >= last.until) last = { flight: begin(), until: Infinity };
    return last.flight;
  };
  return () => {
    if (!found) return look();
    if (now() - found.at > MAX_AGE) look().catch(() => undefined);
    return Promise.resolve(found.value);
  };
}
