import type { RateLimitRule } from '#crds/parts/rate-limiting';
import type { z } from 'zod';

type Rule = z.infer<typeof RateLimitRule>;

/** Leaky bucket: `requests` in a burst drain evenly in the period. A refused request is not counted, and no wait exceeds the period. */
export interface Limit {
  /** Identifies the limit within the server. It survives a reload that does not change the counted requests. */
  readonly id: string;
  readonly scope: Rule['scope'];
  readonly perUser: boolean;
  readonly requests: number;
  /** Milliseconds. */
  readonly period: number;
  readonly onStoreFailure: Rule['onStoreFailure'];
}

export interface Refusal {
  readonly limit: Limit;
  /** Milliseconds until a request may pass, if no other request comes first. */
  readonly wait: number;
}
