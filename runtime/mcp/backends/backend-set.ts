import type { Backend } from './backend.ts';
import type { BackendWatch } from './watch-backend.ts';

/** The backends in force, in the order of the configuration. */
export interface BackendSet {
  readonly all: readonly Backend[];
  /** What an administrator should know of them. */
  readonly warnings: readonly string[];
  get(name: string): Backend | undefined;
  watch(name: string): BackendWatch | undefined;
}
