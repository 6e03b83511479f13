import type { ProxySettings } from '#lib/connections/proxy';
import type { Log } from '#runtime/telemetry/log';

export interface ProviderDeps {
  readonly redirectUri: string;
  /** The primary provider identifies the user, so its claims are kept. */
  readonly isPrimary: boolean;
  /** Allows plain http to other machines too. */
  readonly allowHttp: boolean;
  /** Returns the current content of a file. @throws ConfigError */
  readonly readSecret: (file: string) => string;
  readonly proxy: ProxySettings | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Deadline of one call to the provider in milliseconds. */
  readonly deadline?: number;
}
