/** Of one user: sessions and codes not yet redeemed. One more ends the one that would end first. */
export const SESSIONS_PER_USER = 1000;

/** Rows of one kind where the caller names no capacity. */
export const ROWS_OF_A_KIND = 100_000;

/** What the memory of this process holds at most. */
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
