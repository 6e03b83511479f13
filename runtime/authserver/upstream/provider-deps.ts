import type { ProxySettings } from '#lib/connections/proxy';
import type { Log } from '#runtime/telemetry/log';

/** What a provider needs of its surroundings. */
export interface ProviderDeps {
  /** Redirect URI of its callback. */
  readonly redirectUri: string;
  /** It says who the user is: its claims are kept. */
  readonly isPrimary: boolean;
  /** Plain http is allowed off this machine, too. */
  readonly allowHttp: boolean;
  /** Content of a file in force now. @throws ConfigError */
  readonly readSecret: (file: string) => string;
  readonly proxy: ProxySettings | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds for one call to the provider. */
  readonly deadline?: number;
}
