import type { BackendParts } from '#runtime/mcp/backends/backend-parts';
import type { StdioBackend as StdioConfig } from '#crds/run-config/backend';
import type { Backoff } from './crash-backoff.ts';
import type { Log } from '#runtime/telemetry/log';

export interface StdioBackendOptions extends BackendParts {
  readonly config: StdioConfig;
  /** The whole environment of the process, values of files included. */
  readonly env: Readonly<Record<string, string>>;
  /** Values that must not reach a log. */
  readonly secrets: readonly string[];
  readonly sessions: {
    readonly max: number;
    /** Processes at once under `stdio_process: perSession`. */
    readonly maxProcesses: number;
    /** Milliseconds. */
    readonly idle: number;
  };
  /** JSON text of the gateway's own initialize params. */
  readonly initializeParams: string;
  /** Milliseconds for a start, initialize included. */
  readonly startDeadline: number;
  readonly backoff: Backoff;
  readonly log: Log;
  /** A list of the backend has changed; the method is the notification's. */
  readonly onListChanged: (method: string) => void;
}
