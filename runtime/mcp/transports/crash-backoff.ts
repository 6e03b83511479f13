export interface Backoff {
  /** Milliseconds before the restart after a repeated crash. Doubles with each crash. */
  readonly first: number;
  readonly last: number;
  /** Milliseconds of service after which earlier crashes no longer count. */
  readonly healthy: number;
}

/** How a process ended. */
export interface ProcessEnd {
  /** Milliseconds from the answer to initialize to the end; undefined: it never answered. */
  readonly servedFor: number | undefined;
  /** Whether an external signal ended it. */
  readonly wasKilled: boolean;
}

/** Milliseconds of service after which a kill does not count as a sign of a process that cannot run here, e.g. for lack of memory. */
const BRIEF = 5_000;
/** Maximum wait in milliseconds for a process that served for longer than that. */
const LAST_AFTER_SERVICE = 2_000;

/** Counts the crashes of a process, and computes the wait before its next start in milliseconds. */
export class CrashBackoff {
  readonly #settings: Backoff;
  #crashes = 0;

  constructor(settings: Backoff) {
    this.#settings = settings;
  }

  next({ servedFor, wasKilled }: ProcessEnd): number {
    const { first, last, healthy } = this.#settings;
    if (servedFor !== undefined && servedFor >= healthy) this.#crashes = 0;
    const isBrief = servedFor === undefined || servedFor < BRIEF;
    if (wasKilled && !isBrief) return 0;
    const before = this.#crashes++;
    if (servedFor === undefined) return doubled(first, before, last);
    return before === 0 ? 0 : doubled(first, before - 1, isBrief ? last : Math.min(last, LAST_AFTER_SERVICE));
  }
}

function doubled(first: number, times: number, last: number): number {
  return Math.min(first * 2 ** Math.min(times, 16), last);
}
