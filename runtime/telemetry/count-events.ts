import type { Limit } from '#runtime/rate-limits/limit';
import type { LimitOutcome } from '#runtime/rate-limits/rate-limits';
import type { ExchangeOutcome } from '#runtime/outgoing/credential-deps';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { WebhookOutcome } from '#runtime/webhooks/create-webhook-gate';
import type { Metrics } from './metrics.ts';

export interface EventCounters {
  readonly exchanged: (backend: string, outcome: ExchangeOutcome) => void;
  readonly webhookAsked: (webhook: string, outcome: WebhookOutcome) => void;
  readonly rateLimited: (scope: Limit['scope'], outcome: LimitOutcome) => void;
  readonly policy: PolicyMetrics;
  readonly tokenLookedUp: (remembered: boolean) => void;
}

export function countEvents({ count }: Pick<Metrics, 'count'>): EventCounters {
  const lookedUp = (cache: string) => (hit: boolean) => count('vmcp_cache_lookups_total', cache, hit ? 'hit' : 'miss');
  const exchangeLookedUp = lookedUp('exchanged_tokens');
  return {
    exchanged(backend, outcome) {
      count('vmcp_token_exchanges_total', backend, outcome);
      exchangeLookedUp(outcome === 'hit');
    },
    webhookAsked: (webhook, outcome) => count('vmcp_webhook_requests_total', webhook, outcome),
    rateLimited: (scope, outcome) => count('vmcp_rate_limited_total', scope, outcome),
    policy: {
      decided: (outcome) => count('vmcp_policy_decisions_total', outcome),
      lookedUp: lookedUp('policy_decisions'),
      policyErred: (effect) => count('vmcp_policy_errors_total', effect),
      engineFailed: () => count('vmcp_policy_errors_total', 'engine'),
    },
    tokenLookedUp: lookedUp('verified_tokens'),
  };
}
