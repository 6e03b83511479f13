/** Milliseconds after which the lookup is renewed, while the present result remains in use. */
const MAX_AGE = 3_600_000;
/** Milliseconds after a failure without another lookup. */
const COOL_DOWN = 2_000;

/** Returns the result of a lookup. `isFresh`: of a new one, unless that one fails. */
export type KnownServer<T> = (isFresh?: boolean) => Promise<T>;

/** Caches the result of a lookup and renews it. Concurrent callers share one lookup. `now`: milliseconds since the epoch. */
export function rememberServer<T>(find: () => Promise<T>, now: () => number): KnownServer<T> {
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
  const look = (): Promise<T> => {
    if (!last || now() >= last.until) last = { flight: begin(), until: Infinity };
    return last.flight;
  };
  return (isFresh = false) => {
    if (!found) return look();
    const { value } = found;
    if (isFresh) return look().catch(() => value);
    if (now() - found.at > MAX_AGE) look().catch(() => undefined);
    return Promise.resolve(value);
  };
}
