import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Breaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import type { BackendHealth } from './health.ts';
import type { BufferedBytes } from './buffered-bytes.ts';

/** The components that backends of all transports need. */
export interface BackendParts {
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  readonly deadlines: Deadlines;
  readonly bufferedBytes: BufferedBytes;
  /** Returns milliseconds of the monotonic clock. */
  readonly now: () => number;
  readonly maxResponseBytes: number;
  /** Maximum number of concurrent calls and of queued calls. */
  readonly concurrency: { readonly perBackend: number; readonly queue: number };
}
