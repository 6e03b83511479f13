/** Maximum number of sessions and unredeemed codes per user. One more removes the one with the earliest end. */
export const SESSIONS_PER_USER = 1000;

export const ROWS_OF_A_KIND = 100_000;

export interface MemoryBounds {
  readonly rows: number;
  readonly codes: number;
  readonly sessions: number;
  readonly users: number;
  readonly leases: number;
  readonly buckets: number;
}

export const MEMORY_BOUNDS: MemoryBounds = {
  rows: ROWS_OF_A_KIND,
  codes: 10_000,
  sessions: 100_000,
  users: 100_000,
  leases: 100_000,
  buckets: 100_000,
};
