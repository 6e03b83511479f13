/** Milliseconds until every replica has seen a change of the files. */
const SEEN_BY_ALL = 120_000;

/**
 * Tells whether another replica may use a `kid` that this process has not read yet. Other replicas exist only behind a shared storage.
 * `now`: milliseconds since the epoch.
 */
export function newsMayCome(
  { status, changedAt }: { readonly status: { readonly ephemeral: boolean }; readonly changedAt: number },
  storage: { readonly kind: 'memory' | 'sqlite' | 'redis' },
  now: number,
): boolean {
  return storage.kind === 'redis' && !status.ephemeral && now - changedAt < SEEN_BY_ALL;
}

/** One of a list of keys or secrets. */
interface Successor {
  readonly kid: string;
}

/** A list of keys or secrets of which all check and one makes, and how another list takes its place. */
interface Succession<T extends Successor> {
  /** In the order of the configuration. */
  readonly all: readonly T[];
  readonly get: (kid: string) => T | undefined;
  /** The one that makes now. */
  readonly making: () => T;
  /** Of the start, or of the last change. */
  readonly changedAt: number;
  /**
   * The first of the list makes. One that was not in the former list checks at once and makes 120 s later, as another replica may see
   * it later; where nothing of the former list is left, it makes at once.
   * @returns whether anything changed
   */
  update(next: readonly T[]): boolean;
}

/** `first` must not be empty; one that stands in a list twice counts once. `now`: milliseconds since the epoch. */
export function createSuccession<T extends Successor>(first: readonly T[], now: () => number): Succession<T> {
  let byKid = new Map(first.map((one) => [one.kid, one]));
  let makesFrom = new Map<string, number>();
  let changedAt = now();
  return {
    get all() {
      return [...byKid.values()];
    },
    get: (kid) => byKid.get(kid),
    making() {
      let fallback: T | undefined;
      for (const one of byKid.values()) {
        fallback ??= one;
        if ((makesFrom.get(one.kid) ?? 0) <= now()) return one;
      }
      if (fallback === undefined) throw new Error('a list of keys is empty');
      return fallback;
    },
    get changedAt() {
      return changedAt;
    },
    update(next) {
      const nextByKid = new Map(next.map((one) => [one.kid, one]));
      if ([...nextByKid.keys()].join() === [...byKid.keys()].join()) return false;
      changedAt = now();
      const hasFormer = [...nextByKid.keys()].some((kid) => byKid.has(kid));
      const fromOf = (kid: string) =>
        byKid.has(kid) || !hasFormer ? (makesFrom.get(kid) ?? 0) : changedAt + SEEN_BY_ALL;
      makesFrom = new Map([...nextByKid.keys()].map((kid) => [kid, fromOf(kid)]));
      byKid = nextByKid;
      return true;
    },
  };
}
