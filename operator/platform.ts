import type { Outcome } from '#operator/plan/outcome';
import type { ResourceKey, Snapshot } from '#operator/snapshot';

/** Stores resources and runs children: in a folder with processes, or in a cluster. */
export interface Platform {
  /**
   * Calls `changed` for every existing resource, then for each one that appears, changes or is deleted, including Secrets and ConfigMaps. A
   * VirtualMCPServer is also reported when its runtime's /status changes. Surplus calls are harmless. Resolves when the first state is
   * known.
   */
  watch(changed: (key: ResourceKey) => void): Promise<void>;
  /** Returns a snapshot of one namespace. */
  observe(namespace: string): Promise<Snapshot>;
  /** Creates files, objects and processes according to the outcome. Idempotent. */
  apply(outcome: Outcome): Promise<void>;
  /** Writes the status if it differs from the current one. The only writer of statuses. */
  report(outcome: Outcome): Promise<void>;
  /** Stops watching. Leaves children unchanged. */
  close(): Promise<void>;
}
