/** What the policy room counts. */
export interface PolicyMetrics {
  /** A call was decided. */
  decided(outcome: 'allowed' | 'denied' | 'would_deny'): void;
  /** A decision was looked for in memory, for calls and for lists. */
  lookedUp(remembered: boolean): void;
  /** A policy erred while it was evaluated: a `permit` grants nothing then, a `forbid` denies. */
  policyErred(effect: 'permit' | 'forbid'): void;
  /** Cedar gave no answer; the caller got 503. */
  engineFailed(): void;
}
