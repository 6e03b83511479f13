import type { Identity } from '#runtime/incoming/identity';

export interface WebhookCall {
  readonly identity: Identity;
  readonly workload: string;
  /** Advertised name of the tool, as the client called it. */
  readonly tool: string;
  readonly originalName: string;
  readonly args: unknown;
  readonly revision: string | undefined;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
}

export interface WebhookGate {
  /** Calls the webhooks in order until one refuses. Settles when all have allowed the call. @throws WebhookRefusal */
  check(call: WebhookCall): Promise<void>;
  close(): Promise<void>;
}
