import type { RunConfig } from '#crds/run-config/run-config';
import type { ExchangeOutcome } from '#runtime/outgoing/create-credential';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { Trail } from '#runtime/trail';

/** What the rooms tell of, for audit and metrics. */
export interface Observer {
  /** A request is over. */
  finished(trail: Trail, config: RunConfig): void;
  exchanged(this: void, backend: string, outcome: ExchangeOutcome): void;
  policyReloaded(): void;
  configReloaded(outcome: 'success' | 'failure'): void;
  readonly policy: Partial<PolicyMetrics>;
}
