export interface PolicyMetrics {
  decided(outcome: 'allowed' | 'denied' | 'would_deny'): void;
  lookedUp(remembered: boolean): void;
  /** Counts a failed policy: a failed `permit` permits nothing, a failed `forbid` denies. */
  policyErred(effect: 'permit' | 'forbid'): void;
  /** Counts a failure of Cedar, which gave the caller a 503. */
  engineFailed(): void;
}
