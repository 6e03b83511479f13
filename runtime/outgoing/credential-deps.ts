import type { ExchangedTokens } from './exchanged-tokens.ts';
import type { Log } from '#runtime/telemetry/log';
import type { ProxySettings } from '#lib/connections/proxy';
import type { UserTokens } from '#runtime/authserver/user-tokens';

/** Result of one token exchange. `hit`: none was needed. */
export type ExchangeOutcome = 'hit' | 'exchanged' | 'failed';

/** Collaborators of a credential. */
export interface CredentialDeps {
  /** Name of the backend, for messages. */
  readonly backend: string;
  /** Current content of a file that the configuration names, without trailing line breaks; cheap to call. */
  readonly readSecret: (file: string) => string;
  /** Exchanged tokens of all backends; outlives a reload, so that a change elsewhere loses none. */
  readonly exchanged: ExchangedTokens;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly count?: (outcome: ExchangeOutcome) => void;
  readonly proxy?: ProxySettings | undefined;
  /** Longest wait for a token endpoint's whole answer, in milliseconds. */
  readonly exchangeDeadline?: number;
  /** Stored tokens of the callers; undefined: there is no embedded authorization server. */
  readonly userTokens?: UserTokens | undefined;
  /** The backend's URL, which signatures cover; undefined: it is no HTTP backend. */
  readonly url?: string | undefined;
  /** Endpoint of AWS STS; undefined: that of the region. */
  readonly stsEndpoint?: string | undefined;
}
