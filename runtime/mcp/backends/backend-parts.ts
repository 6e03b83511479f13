import type { AppUris } from '#runtime/mcp/aggregate/app-uris';
import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Breaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import type { BackendHealth } from './health.ts';
import type { BufferedBytes } from './buffered-bytes.ts';

export interface BackendParts {
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  readonly deadlines: Deadlines;
  readonly bufferedBytes: BufferedBytes;
  /** Absent: no app has an alias. */
  readonly apps?: Pick<AppUris, 'aliasesOf'> | undefined;
  readonly now: () => number;
  readonly maxResponseBytes: number;
  readonly concurrency: { readonly perBackend: number; readonly queue: number };
}
