import type { Backend } from '#runtime/mcp/backends/backend';

export interface BridgeDeps {
  /** The backend of older revisions. */
  readonly backend: Backend;
  /** Milliseconds for requests that the bridge itself sends. */
  readonly deadline: number;
  readonly maxSessions: number;
  /** Version of the gateway. */
  readonly version: string;
  /** Monotonic clock. */
  readonly now: () => number;
  readonly listChanged: (method: string) => void;
}
