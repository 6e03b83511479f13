import type { RateLimitRule } from '#crds/parts/rate-limiting';
import type { z } from 'zod';

type Rule = z.infer<typeof RateLimitRule>;

/**
 * Limit of a leaky bucket: `requests` may arrive in a burst, and a full count drains evenly in the period. A refused request is not
 * counted, and no wait exceeds the period.
 */
export interface Limit {
  /** Identifies the limit within the server. It survives a reload that does not change the counted requests. */
  readonly id: string;
  /** Scope in the error, the audit and the metrics. */
  readonly scope: Rule['scope'];
  /** Whether each user has a separate count. */
  readonly perUser: boolean;
  readonly requests: number;
  /** Milliseconds. */
  readonly period: number;
  readonly onStoreFailure: Rule['onStoreFailure'];
}

/** Reason to refuse a request. */
export interface Refusal {
  readonly limit: Limit;
  /** Milliseconds until a request may pass, if no other request comes first. */
  readonly wait: number;
}
