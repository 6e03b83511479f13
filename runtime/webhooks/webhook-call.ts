import type { Identity } from '#runtime/incoming/identity';

/** A tool call that webhooks must approve. */
export interface WebhookCall {
  readonly identity: Identity;
  /** Name of the MCPServer. */
  readonly workload: string;
  /** Advertised name of the tool, as the client called it. */
  readonly tool: string;
  /** Name of the tool at the MCPServer. */
  readonly originalName: string;
  /** Arguments for the MCPServer; undefined if the client sent none. */
  readonly args: unknown;
  /** MCP revision and self-reported name of the client. */
  readonly revision: string | undefined;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
}

/** Decides calls with the webhooks of an MCPServer. */
export interface WebhookGate {
  /** Calls the webhooks in order until one refuses. Settles when all have allowed the call. @throws WebhookRefusal */
  check(call: WebhookCall): Promise<void>;
  close(): Promise<void>;
}
