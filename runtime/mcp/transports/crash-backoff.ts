export interface Backoff {
  /** Milliseconds. Doubles with each crash. */
  readonly first: number;
  readonly last: number;
  /** Milliseconds of service after which earlier crashes no longer count. */
  readonly healthy: number;
}

export interface ProcessEnd {
  /** Milliseconds since the answer to initialize; undefined: it never answered. */
  readonly servedFor: number | undefined;
  /** An external signal ended the process. */
  readonly wasKilled: boolean;
}

/** Milliseconds. After a briefer service, a kill may mean that the process cannot run here, e.g. for lack of memory. */
const BRIEF = 5_000;
/** Milliseconds. */
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
