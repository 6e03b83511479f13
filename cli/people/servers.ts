import type { Resources } from '#management/stores/resources';

export interface Servers {
  readonly resources: Resources;
  readonly place: string;
  /** A running server applies changes at once. */
  readonly running: boolean;
}
