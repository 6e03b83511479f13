import type { UserToken } from '#runtime/authserver/user-tokens';
import type { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError, RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { providerTokens, type ProviderTokens } from './provider-login.ts';

type UpstreamInject = Extract<BackendAuth, { type: 'upstream_inject' }>;

/** RFC 6750 §2.1 b64token. The limit keeps headers within the limits of servers. */
const BEARER = /^[A-Za-z0-9._~+/-]{1,16384}=*$/;

/** Sends the caller's stored token of a provider. Builds headers once for each token. @throws ConfigError */
export function upstreamInject(auth: UpstreamInject, deps: CredentialDeps): Credential {
  return new UpstreamInjectCredential(auth, deps);
}

class UpstreamInjectCredential implements Credential {
  readonly authType = 'upstreamInject';
  readonly perUser = true;
  readonly login: ProviderTokens;
  readonly #headerName: string;
  readonly #known = new WeakMap<UserToken, CredentialHeaders>();

  constructor(auth: UpstreamInject, deps: CredentialDeps) {
    this.login = providerTokens('upstreamInject', auth.provider_name, deps);
    this.#headerName = headerOf(auth, deps.backend).toLowerCase();
  }

  headersFor(identity: Identity): CredentialHeaders | Promise<CredentialHeaders> {
    const token = this.login.get(identity);
    return token instanceof Promise ? token.then((got) => this.#headersOf(got)) : this.#headersOf(token);
  }

  invalidate(identity: Identity, refused: CredentialHeaders): boolean {
    const accessToken = this.login.behind(refused);
    return accessToken !== undefined && this.login.tokens.refused(identity, this.login.provider, accessToken);
  }

  close(): void {
    // The authorization server owns the tokens.
  }

  #headersOf(token: UserToken): CredentialHeaders {
    return this.#known.get(token) ?? this.#make(token);
  }

  #make(token: UserToken): CredentialHeaders {
    const { provider } = this.login;
    if (!BEARER.test(token.accessToken)) {
      throw new RequestError({
        status: 200,
        code: 'upstream_token_unusable',
        text: `The token that ${provider} gave cannot be sent; an administrator has to look at it`,
        rpc: { code: -32603 },
      });
    }
    const headers = Object.freeze([this.#headerName, `Bearer ${token.accessToken}`]);
    this.#known.set(token, headers);
    this.login.made(headers, token.accessToken);
    return headers;
  }
}

function headerOf({ header_strategy: strategy, custom_header_name: custom }: UpstreamInject, backend: string): string {
  if (strategy === 'replace') return 'authorization';
  if (custom === undefined)
    throw new ConfigError(`backend ${backend}: header_strategy custom needs custom_header_name`);
  return custom;
}
