import type { Upstream } from '#crds/run-config/auth-server';
import { readPath } from '#runtime/read-path';
import { askUserInfo, identityFields } from './ask-user-info.ts';
import { authorizationParameters } from './authorization-parameters.ts';
import type { ProviderDeps } from './provider-deps.ts';
import {
  type StepRequest,
  type StepResult,
  type StepSecrets,
  type UpstreamIdentity,
  type UpstreamProvider,
  UpstreamRefused,
  type UpstreamTokens,
  UpstreamUnavailable,
} from './provider.ts';
import { readClientSecret } from './read-client-secret.ts';
import { type IdentityFields, readIdentity } from './read-identity.ts';
import { checkToken, type Document, expiryOf, keptToken, scopeOf } from './token-answer.ts';
import { TokenEndpoint } from './token-endpoint.ts';
import { errorOfStep } from './upstream-errors.ts';
import { createUpstreamHttp, type UpstreamHttp } from './upstream-http.ts';

type OAuth2Upstream = Extract<Upstream, { type: 'oauth2' }>;
type Config = OAuth2Upstream['oauth2_config'];

interface Parts extends ProviderDeps {
  readonly http: UpstreamHttp;
  readonly tokenEndpoint: TokenEndpoint;
}

/** Creates a provider without OpenID Connect. @throws ConfigError */
export function createOAuth2Provider(upstream: OAuth2Upstream, deps: ProviderDeps): UpstreamProvider {
  const { name, oauth2_config: config, ca_bundle_file: caFile } = upstream;
  const { token_endpoint: url, client_id: clientId, client_secret_file: secretFile } = config;
  const clientSecret = readClientSecret(name, secretFile, deps);
  const http = createUpstreamHttp({ ...deps, name, caFile });
  const tokenEndpoint = new TokenEndpoint({ name, url, clientId, clientSecret, http });
  return new OAuth2Provider(upstream, { ...deps, http, tokenEndpoint });
}

class OAuth2Provider implements UpstreamProvider {
  readonly name: string;
  readonly #upstream: OAuth2Upstream;
  readonly #config: Config;
  readonly #parts: Parts;

  constructor(upstream: OAuth2Upstream, parts: Parts) {
    this.name = upstream.name;
    this.#upstream = upstream;
    this.#config = upstream.oauth2_config;
    this.#parts = parts;
  }

  authorizationUrl(request: StepRequest): Promise<string> {
    const { authorization_endpoint: endpoint, client_id: clientId, scopes } = this.#config;
    const { redirectUri } = this.#parts;
    const additional = this.#upstream.additional_authorization_params;
    const url = new URL(endpoint);
    const parameters = authorizationParameters(request, { clientId, redirectUri, scopes, additional });
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return Promise.resolve(url.href);
  }

  async finish(callback: URL, { verifier, state }: StepSecrets & { readonly state: string }): Promise<StepResult> {
    const code = this.#readCode(callback.searchParams, state);
    const { redirectUri } = this.#parts;
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const answer = await this.#parts.tokenEndpoint.ask(form);
    const tokens = this.#tokensOf(answer, []);
    return { tokens, identity: await this.#identityOf(answer, tokens) };
  }

  async refresh(tokens: UpstreamTokens): Promise<UpstreamTokens> {
    const { refresh_token: refreshToken } = tokens;
    if (refreshToken === undefined) throw new UpstreamRefused(`${this.name}: it gave no refresh token`);
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    // Slack nests tokens only in the answer to a code.
    const renewed = this.#tokensOf(await this.#parts.tokenEndpoint.ask(form), ['usual']);
    return {
      ...renewed,
      refresh_token: renewed.refresh_token ?? refreshToken,
      scope: renewed.scope ?? tokens.scope,
      id_token: renewed.id_token ?? tokens.id_token,
    };
  }

  async identify(tokens: UpstreamTokens): Promise<UpstreamIdentity | undefined> {
    const { userinfo } = this.#config;
    if (userinfo === undefined) return undefined;
    const told = await askUserInfo(this.name, userinfo, tokens.access_token, this.#parts.http);
    return this.#read(told, identityFields(userinfo.field_mapping));
  }

  close(): Promise<void> {
    return this.#parts.http.close();
  }

  /** RFC 6749 §4.1.2: each parameter occurs once. */
  #readCode(query: URLSearchParams, state: string): string {
    const one = (name: string) => {
      const [value, ...more] = query.getAll(name);
      return more.length > 0 ? undefined : value;
    };
    const [error, code] = [one('error'), one('code')];
    if (one('state') === state && error !== undefined) throw errorOfStep(this.name, error);
    if (one('state') === state && code !== undefined && code !== '') return code;
    throw new UpstreamUnavailable(`${this.name}: it sent the user back without a code`, { answered: true });
  }

  /** Returns the identity from the token response if it is configured there, otherwise from user-info. Undefined without both. */
  async #identityOf(answer: Document, tokens: UpstreamTokens): Promise<UpstreamIdentity | undefined> {
    const { identity_from_token: paths } = this.#config;
    if (paths === undefined) return this.identify(tokens);
    const list = (path: string | undefined) => (path === undefined ? [] : [path]);
    const { subject_path: subject, name_path: name, email_path: email } = paths;
    const identity = this.#read(answer, { subject: [subject], name: list(name), email: list(email) });
    // The members of a token response are not claims of the user.
    return { ...identity, claims: {} };
  }

  /** Such a provider has no issuer name. Its token endpoint vouches for the user, so its URL is the issuer. */
  #read(about: Document, fields: IdentityFields): UpstreamIdentity {
    const { origin, pathname } = new URL(this.#config.token_endpoint);
    return readIdentity(this.name, about, {
      issuer: origin + pathname,
      fields,
      keepClaims: this.#parts.isPrimary,
    });
  }

  #tokensOf(answer: Document, also: readonly 'usual'[]): UpstreamTokens {
    const { access_token_path, refresh_token_path, expires_in_path, scope_path } =
      this.#config.token_response_mapping ?? {};
    const read = (path: string | undefined, usual: string) =>
      readPath(answer, path ?? usual) ?? (also.length > 0 ? readPath(answer, usual) : undefined);
    const [refreshToken, scope, idToken] = [
      read(refresh_token_path, 'refresh_token'),
      read(scope_path, 'scope'),
      answer.id_token,
    ];
    return {
      access_token: checkToken(this.name, read(access_token_path, 'access_token')),
      refresh_token: keptToken(this.name, refreshToken),
      expires_at: expiryOf(read(expires_in_path, 'expires_in'), this.#parts.now()),
      scope: scopeOf(scope),
      id_token: keptToken(this.name, idToken),
    };
  }
}
