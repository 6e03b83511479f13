import type { Outcome } from '#operator/plan/outcome';
import type { ResourceKey, World } from '#operator/world';

/** Where resources live and children run. Two of them: a folder with processes, and a cluster. */
export interface Platform {
  /**
   * Calls `changed` for every resource that there is, and then for each one that appears, changes or goes, Secrets and
   * ConfigMaps included, and for a VirtualMCPServer also when its runtime's /status differs. Calls too many are harmless.
   * Resolves when the first state is known.
   */
  watch(changed: (key: ResourceKey) => void): Promise<void>;
  /** All of one namespace as it is now. */
  observe(namespace: string): Promise<World>;
  /** Makes files, objects and processes as the outcome says. Idempotent. */
  apply(outcome: Outcome): Promise<void>;
  /** Writes the status, if it differs from the one that stands. The only writer of a status. */
  report(outcome: Outcome): Promise<void>;
  /** Stops watching. Children are not this method's concern. */
  close(): Promise<void>;
}
