import type { ProxySettings } from '#lib/connections/proxy';
import type { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import type { UserTokens } from '#runtime/authserver/user-tokens';
import type { Log } from '#runtime/telemetry/log';
import { awsSts } from './aws-sts.ts';
import type { Credential } from './credential.ts';
import type { ExchangedTokens } from './exchanged-tokens.ts';
import { headerValue, unauthenticated } from './static-header.ts';
import { tokenExchange } from './token-exchange.ts';
import { upstreamInject } from './upstream-inject.ts';

/** What happened to one token exchange, or that none was needed (`hit`). */
export type ExchangeOutcome = 'hit' | 'exchanged' | 'failed';

/** What a credential needs from the outside. */
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

type AuthByType = { [Type in BackendAuth['type']]: Extract<BackendAuth, { type: Type }> };
type Strategies = { [Type in keyof AuthByType]: (auth: AuthByType[Type], deps: CredentialDeps) => Credential };

const strategies: Strategies = {
  unauthenticated: () => unauthenticated,
  header_injection: (auth, deps) =>
    headerValue({ authType: 'headerInjection', name: auth.header_name, file: auth.value_file, prefix: '' }, deps),
  bearer_token: (auth, deps) =>
    headerValue({ authType: 'bearerToken', name: 'authorization', file: auth.token_file, prefix: 'Bearer ' }, deps),
  token_exchange: tokenExchange,
  upstream_inject: upstreamInject,
  aws_sts: awsSts,
  remote_auth: (_auth, { backend }) => {
    // It has a store to open first: remote-login/open-remote-credential.ts.
    throw new ConfigError(`backend ${backend}: remote_auth is for backends that are reached over HTTP`);
  },
};

/**
 * Boundary 2 of one backend, from its configuration.
 * @throws ConfigError when a file holds nothing usable, or what the kind needs is not there
 */
export function createCredential<Type extends keyof AuthByType>(
  auth: AuthByType[Type] & { type: Type },
  deps: CredentialDeps,
): Credential {
  return strategies[auth.type](auth, deps);
}
