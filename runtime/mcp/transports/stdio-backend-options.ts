import type { BackendParts } from '#runtime/mcp/backends/backend-parts';
import type { StdioBackend as StdioConfig } from '#crds/run-config/backend';
import type { Backoff } from './crash-backoff.ts';
import type { Log } from '#runtime/telemetry/log';

export interface StdioBackendOptions extends BackendParts {
  readonly config: StdioConfig;
  /** The whole environment of the process, including values from files. */
  readonly env: Readonly<Record<string, string>>;
  /** Values that must not reach a log. */
  readonly secrets: readonly string[];
  readonly sessions: {
    readonly max: number;
    /** Maximum processes with `stdio_process: perSession`. */
    readonly maxProcesses: number;
    /** Milliseconds. */
    readonly idle: number;
  };
  /** JSON text of the gateway's own initialize params. */
  readonly initializeParams: string;
  /** Milliseconds for a start, including initialize. */
  readonly startDeadline: number;
  readonly backoff: Backoff;
  readonly log: Log;
  /** Called when a list of the backend has changed. `method`: that of the notification. */
  readonly onListChanged: (method: string) => void;
}
