import type { Limit, Refusal } from './limit.ts';

/** Where requests are counted: in this process, or in a Redis for all replicas. */
export interface Counters {
  /**
   * Counts one request at all of these limits, or at none of them. `user`: `Identity.key`.
   * @returns undefined: it is let through
   * @throws StorageUnavailable where nobody can tell
   */
  take(limits: readonly Limit[], user: string): Refusal | undefined | Promise<Refusal | undefined>;
  /** From now on these are in force: of the others nothing is kept. */
  retain(limits: readonly Limit[]): void;
  close(): void;
}
