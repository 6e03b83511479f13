import type { Backend } from './backend.ts';
import type { BackendWatch } from './watch-backend.ts';

/** The active backends, in the order of the configuration. */
export interface BackendSet {
  readonly all: readonly Backend[];
  /** Warnings about the backends for administrators. */
  readonly warnings: readonly string[];
  get(name: string): Backend | undefined;
  watch(name: string): BackendWatch | undefined;
}
