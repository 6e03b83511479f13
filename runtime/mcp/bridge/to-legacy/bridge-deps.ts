import type { Backend } from '#runtime/mcp/backends/backend';
import type { CheckedHeaders } from './checked-headers.ts';
import type { ParkedCalls } from './parked-calls.ts';
import type { TaskTools } from './task-tools.ts';

export interface BridgeDeps {
  /** The backend of older revisions. */
  readonly backend: Backend;
  /** Milliseconds for requests that the bridge itself sends. */
  readonly deadline: number;
  readonly maxSessions: number;
  /** Milliseconds without use after which the client sessions of the gateway end. */
  readonly sessionIdle: number;
  /** Version of the gateway. */
  readonly version: string;
  /** Monotonic clock. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly parkedCalls: ParkedCalls;
  readonly checkedHeaders: CheckedHeaders;
  readonly taskTools: TaskTools;
  readonly listChanged: (method: string) => void;
}
