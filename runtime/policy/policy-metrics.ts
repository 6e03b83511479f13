/** Counters of policy decisions. */
export interface PolicyMetrics {
  /** Counts a decided call. */
  decided(outcome: 'allowed' | 'denied' | 'would_deny'): void;
  /** Counts a cache lookup, for calls and for lists. */
  lookedUp(remembered: boolean): void;
  /** Counts a failed policy: a failed `permit` permits nothing, a failed `forbid` denies. */
  policyErred(effect: 'permit' | 'forbid'): void;
  /** Counts a failure of Cedar, which gave the caller a 503. */
  engineFailed(): void;
}
