import type { AuditLine } from '#crds/parts/audit-line';

/** Where audit lines come from. */
export interface AuditSource {
  /** Yields the lines so far, in order of time. `since`: milliseconds of the epoch. */
  past(since: number): AsyncIterable<AuditLine>;
  /** Yields new lines until `signal` aborts. Call it after `past` has ended. */
  following(signal: AbortSignal): AsyncIterable<AuditLine>;
}
