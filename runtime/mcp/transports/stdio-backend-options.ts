import type { BackendParts } from '#runtime/mcp/backends/backend-parts';
import type { StdioBackend as StdioConfig } from '#crds/run-config/backend';
import type { Backoff } from './crash-backoff.ts';
import type { Log } from '#runtime/telemetry/log';

export interface StdioBackendOptions extends BackendParts {
  readonly config: StdioConfig;
  readonly env: Readonly<Record<string, string>>;
  /** Must not reach a log. */
  readonly secrets: readonly string[];
  readonly sessions: {
    readonly max: number;
    /** For `stdio_process: perSession`. */
    readonly maxProcesses: number;
    /** Milliseconds. */
    readonly idle: number;
  };
  readonly initializeParams: string;
  /** Milliseconds, including initialize. */
  readonly startDeadline: number;
  readonly backoff: Backoff;
  readonly log: Log;
  /** `method`: that of the notification. */
  readonly onListChanged: (method: string) => void;
}
