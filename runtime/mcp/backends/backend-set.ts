import type { Backend } from './backend.ts';
import type { BackendWatch } from './watch-backend.ts';

/** In configuration order. */
export interface BackendSet {
  readonly all: readonly Backend[];
  readonly warnings: readonly string[];
  get(name: string): Backend | undefined;
  watch(name: string): BackendWatch | undefined;
}
