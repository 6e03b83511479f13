import type { PolicyReads } from '#runtime/policy/policy-reads';
import type { Log } from '#runtime/telemetry/log';
import type { AssertionIssuers } from './assertion-issuers.ts';

export interface AssertionSettings {
  readonly issuers: AssertionIssuers;
  readonly reads: () => PolicyReads;
  readonly log: Log;
}
