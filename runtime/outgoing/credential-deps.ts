import type { ExchangedTokens } from './exchanged-tokens.ts';
import type { Log } from '#runtime/telemetry/log';
import type { ProxySettings } from '#lib/connections/proxy';
import type { UserTokens } from '#runtime/authserver/user-tokens';

/** Outcome of one token exchange. `hit`: the token was cached. */
export type ExchangeOutcome = 'hit' | 'exchanged' | 'failed';

export interface CredentialDeps {
  readonly backend: string;
  /** Returns the current content of a configured file, without trailing line breaks. Cheap to call. */
  readonly readSecret: (file: string) => string;
  /** Exchanged tokens of all backends. Outlives a reload, so that other changes keep the tokens. */
  readonly exchanged: ExchangedTokens;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly count?: (outcome: ExchangeOutcome) => void;
  readonly proxy?: ProxySettings | undefined;
  /** Milliseconds for a token endpoint's whole answer. */
  readonly exchangeDeadline?: number;
  readonly userTokens?: UserTokens | undefined;
  /** URL of the backend, which signatures cover; undefined: not an HTTP backend. */
  readonly url?: string | undefined;
  /** Endpoint of AWS STS; undefined: the endpoint of the region. */
  readonly stsEndpoint?: string | undefined;
}
