import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Breaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import type { BackendHealth } from './health.ts';
import type { KeptBytes } from './kept-bytes.ts';

/** What every backend is made of, whatever its transport. */
export interface BackendParts {
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  readonly deadlines: Deadlines;
  readonly keptBytes: KeptBytes;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  readonly maxResponseBytes: number;
  /** Calls at once, and calls that may wait. */
  readonly concurrency: { readonly perBackend: number; readonly queue: number };
}
