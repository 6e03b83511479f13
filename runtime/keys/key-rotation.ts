/** Milliseconds until every replica has read a change of the files. */
const SEEN_BY_ALL = 120_000;

/** Returns whether another replica may use a `kid` unknown here, which requires shared storage. `now`: milliseconds since the epoch. */
export function newKeysMayArrive(
  { status, changedAt }: { readonly status: { readonly ephemeral: boolean }; readonly changedAt: number },
  storage: { readonly kind: 'memory' | 'sqlite' | 'redis' },
  now: number,
): boolean {
  return storage.kind === 'redis' && !status.ephemeral && now - changedAt < SEEN_BY_ALL;
}

interface Successor {
  readonly kid: string;
}

/** Keys or secrets of which all verify and one signs. Handles the rotation to another list. */
interface KeyRotation<T extends Successor> {
  /** In the order of the configuration. */
  readonly all: readonly T[];
  readonly get: (kid: string) => T | undefined;
  readonly making: () => T;
  /** Milliseconds since the epoch of the start or the last change. */
  readonly changedAt: number;
  /** A new first entry signs after 120 s, as replicas may read it later; at once if none remains. @returns whether anything changed */
  update(next: readonly T[]): boolean;
}

/** `first` must not be empty; duplicates count once. `now`: milliseconds since the epoch. */
export function createKeyRotation<T extends Successor>(first: readonly T[], now: () => number): KeyRotation<T> {
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
