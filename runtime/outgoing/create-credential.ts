import type { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import type { Credential } from './credential.ts';
import type { ProxySettings } from './dispatcher.ts';
import type { ExchangedTokens } from './exchanged-tokens.ts';
import { headerValue, unauthenticated } from './static-header.ts';
import { tokenExchange } from './token-exchange.ts';

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
}

type AuthByType = { [Type in BackendAuth['type']]: Extract<BackendAuth, { type: Type }> };
type Strategies = { [Type in keyof AuthByType]: (auth: AuthByType[Type], deps: CredentialDeps) => Credential };

const strategies: Strategies = {
  unauthenticated: () => unauthenticated,
  header_injection: (auth, deps) =>
    headerValue({ authType: 'headerInjection', name: auth.header_name, file: auth.value_file, prefix: '' }, deps),
  bearer_token: (auth, deps) =>
    headerValue({ authType: 'bearerToken', name: 'authorization', file: auth.token_file, prefix: 'Bearer ' }, deps),
  token_exchange: (auth, deps) =>
    auth.subject_provider_name === undefined
      ? tokenExchange(auth, deps)
      : unsupported(deps, 'tokenExchange with subjectProviderName', 'leave subjectProviderName out'),
  upstream_inject: (_auth, deps) =>
    unsupported(deps, 'upstreamInject', 'use tokenExchange, headerInjection or bearerToken'),
  aws_sts: (_auth, deps) => unsupported(deps, 'awsSts', 'use tokenExchange, headerInjection or bearerToken'),
};

/**
 * Boundary 2 of one backend, from its configuration.
 * @throws ConfigError when this runtime cannot serve that kind, or a file holds nothing usable
 */
export function createCredential<Type extends keyof AuthByType>(
  auth: AuthByType[Type] & { type: Type },
  deps: CredentialDeps,
): Credential {
  return strategies[auth.type](auth, deps);
}

/** The one place that refuses what needs stored provider tokens or cloud credentials. */
function unsupported({ backend }: CredentialDeps, kind: string, remedy: string): never {
  throw new ConfigError(
    `backend ${backend}: ${kind} needs tokens that this runtime does not obtain; it would send unauthenticated requests instead, so it is refused: ${remedy}`,
  );
}
