import type { Identity } from '#runtime/incoming/identity';

/** A call of a tool that webhooks are asked about. */
export interface WebhookCall {
  readonly identity: Identity;
  /** Name of the MCPServer. */
  readonly workload: string;
  /** Name by which the client called it. */
  readonly tool: string;
  /** What it is called at the MCPServer. */
  readonly originalName: string;
  /** What goes out to it; undefined where the client sent none. */
  readonly args: unknown;
  /** Revision of MCP that the client speaks, and what it calls itself. */
  readonly revision: string | undefined;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
}

/** What becomes of a call at the webhooks of its MCPServer. */
export interface WebhookGate {
  /**
   * Asks one after the other; the first that refuses decides. Settles when all have let the call through.
   * @throws WebhookRefusal
   */
  check(call: WebhookCall): Promise<void>;
  close(): Promise<void>;
}
