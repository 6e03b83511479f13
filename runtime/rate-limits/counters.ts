import type { Limit, Refusal } from './limit.ts';

/** Request counters: in this process, or in Redis for all replicas. */
export interface Counters {
  /** Counts one request at all of these limits, or at none. `user`: `Identity.key`. @throws StorageUnavailable if the count is unknown */
  take(limits: readonly Limit[], user: string): Refusal | undefined | Promise<Refusal | undefined>;
  retain(limits: readonly Limit[]): void;
  close(): void;
}
