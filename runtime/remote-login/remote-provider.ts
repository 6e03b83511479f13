import * as oidc from 'openid-client';
import { clientSecretBasic } from '#runtime/authserver/upstream/client-secret-basic';
import { asUpstreamError } from '#runtime/authserver/upstream/oidc-failure';
import { toResponse } from '#runtime/authserver/upstream/discovery';
import {
  UpstreamRefused,
  UpstreamUnavailable,
  type UpstreamProvider,
  type UpstreamTokens,
} from '#runtime/authserver/upstream/provider';
import { checkToken, expiryOf } from '#runtime/authserver/upstream/token-answer';
import type { RemoteServer } from './find-server.ts';
import type { RemoteClient } from './registered-client.ts';
import type { RemoteHttp } from './remote-http.ts';

interface ProviderParts {
  readonly name: string;
  readonly http: RemoteHttp;
  readonly server: () => Promise<RemoteServer>;
  readonly holder: (server: RemoteServer) => Promise<RemoteClient | undefined>;
  readonly forgetClient: () => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface Redeeming {
  readonly callback: URL;
  readonly state: string;
  readonly verifier: string | undefined;
  readonly redirectUri: string;
  readonly client: RemoteClient;
}

/** The authorization server of a remote server, as an upstream provider for the renewal of stored tokens. */
export class RemoteProvider implements UpstreamProvider {
  readonly name: string;
  readonly #parts: ProviderParts;

  constructor(parts: ProviderParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  /** @throws UpstreamRefused, UpstreamUnavailable */
  async redeem({ callback, state, verifier, redirectUri, client }: Redeeming): Promise<UpstreamTokens> {
    const server = await this.#parts.server();
    this.#checkIssuer(server, client);
    // openid-client derives the redirect URI from this URL.
    const current = new URL(redirectUri);
    current.search = callback.search;
    // RFC 9207: the `iss` parameter can be checked only if the issuer is known.
    if (!server.isIssuerKnown) current.searchParams.delete('iss');
    const checks = { expectedState: state, ...(verifier !== undefined && { pkceCodeVerifier: verifier }) };
    const answer = await this.#run('token', () =>
      oidc.authorizationCodeGrant(this.#configure(server, client), current, checks, { resource: server.resource }),
    );
    return this.#tokensOf(answer);
  }

  async refresh(tokens: UpstreamTokens): Promise<UpstreamTokens> {
    const { refresh_token: refreshToken } = tokens;
    if (refreshToken === undefined) throw new UpstreamRefused(`${this.name}: it gave no refresh token`);
    const server = await this.#parts.server();
    const client = await this.#parts.holder(server);
    if (client === undefined)
      throw new UpstreamRefused(`${this.name}: the client that the tokens were given to is gone`);
    this.#checkIssuer(server, client);
    const answer = await this.#run('token', () =>
      oidc.refreshTokenGrant(this.#configure(server, client), refreshToken, { resource: server.resource }),
    ).catch(async (error: unknown) => {
      if (!isClientForgotten(error, client)) throw error;
      await this.#parts.forgetClient();
      throw new UpstreamRefused(`${this.name}: it forgot the registered client`);
    });
    const renewed = this.#tokensOf(answer);
    return {
      ...renewed,
      refresh_token: renewed.refresh_token ?? refreshToken,
      scope: renewed.scope ?? tokens.scope,
      id_token: undefined,
    };
  }

  authorizationUrl(): Promise<string> {
    return Promise.reject(new UpstreamUnavailable(`${this.name}: its logins are begun elsewhere`));
  }

  finish(): Promise<never> {
    return Promise.reject(new UpstreamUnavailable(`${this.name}: its logins are finished elsewhere`));
  }

  /** The tokens belong to no user. */
  identify(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  close(): Promise<void> {
    return this.#parts.http.close();
  }

  /** If a remote server changes its issuer, the new issuer must not receive codes and tokens of the former one (RFC 9700 §4.4). */
  #checkIssuer({ metadata: { issuer } }: RemoteServer, client: RemoteClient): void {
    if (client.issuer === issuer) return;
    throw new UpstreamRefused(`${this.name}: its authorization server is another one now: log in again`);
  }

  #configure({ metadata }: RemoteServer, client: RemoteClient): oidc.Configuration {
    const config = new oidc.Configuration(serverOf(metadata), client.client_id, undefined, authenticationOf(client));
    // Which URLs may be called over http is decided for each call.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    oidc.allowInsecureRequests(config);
    config[oidc.customFetch] = async (url, { method, headers, body }) => {
      const text = body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : undefined;
      const call = { method: method === 'POST' ? ('POST' as const) : ('GET' as const), headers };
      return toResponse(await this.#parts.http.call(url, text === undefined ? call : { ...call, body: text }));
    };
    return config;
  }

  #tokensOf(answer: oidc.TokenEndpointResponse): UpstreamTokens {
    return {
      access_token: checkToken(this.name, answer.access_token),
      refresh_token: answer.refresh_token,
      expires_at: expiryOf(answer.expires_in, this.#parts.now()),
      scope: answer.scope,
      id_token: undefined,
    };
  }

  async #run<T>(step: 'token', run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw asUpstreamError(this.name, step, error);
    }
  }
}

/** Returns the metadata without undefined members, as openid-client requires. */
function serverOf({
  issuer,
  token_endpoint,
  authorization_response_iss_parameter_supported: sendsIss = false,
  id_token_signing_alg_values_supported: algorithms = ['RS256'],
}: RemoteServer['metadata']): oidc.ServerMetadata {
  return {
    issuer,
    token_endpoint,
    authorization_response_iss_parameter_supported: sendsIss,
    id_token_signing_alg_values_supported: algorithms,
  };
}

function authenticationOf({
  client_secret: secret,
  token_endpoint_auth_method: method,
}: RemoteClient): oidc.ClientAuth {
  if (method === 'none' || secret === undefined) return oidc.None();
  return method === 'client_secret_post' ? oidc.ClientSecretPost(secret) : clientSecretBasic(secret);
}

/** Returns whether the server no longer knows the registration. The next login registers again. */
function isClientForgotten(error: unknown, { registered }: RemoteClient): boolean {
  return registered !== undefined && error instanceof UpstreamUnavailable && error.status === 401;
}
