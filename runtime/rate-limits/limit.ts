import type { RateLimitRule } from '#crds/parts/rate-limiting';
import type { z } from 'zod';

type Rule = z.infer<typeof RateLimitRule>;

/**
 * So many requests may come at once; what was counted drains evenly, a full count in the period. So a refused request counts
 * nothing, and no wait is longer than the period.
 */
export interface Limit {
  /** Tells it from every other one of the server. It is the same after a reload as long as the same is counted. */
  readonly id: string;
  /** What a refused client, audit and metrics are told. */
  readonly scope: Rule['scope'];
  /** Each user is counted alone. */
  readonly perUser: boolean;
  readonly requests: number;
  /** Milliseconds. */
  readonly period: number;
  readonly onStoreFailure: Rule['onStoreFailure'];
}

/** Why a request is not let through. */
export interface Refusal {
  readonly limit: Limit;
  /** Milliseconds until there is room again, if nobody else takes it. */
  readonly wait: number;
}
