import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import type { Upstream } from '#crds/run-config/auth-server';
import { readPath } from '#runtime/read-path';
import { askUserInfo, identityFields } from './ask-user-info.ts';
import { authorizationParameters } from './authorization-parameters.ts';
import { Discovery } from './discovery.ts';
import { asUpstreamError } from './oidc-failure.ts';
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
import { rememberKeys } from './published-keys.ts';
import { readClientSecret } from './read-client-secret.ts';
import { readIdentity, readVerified } from './read-identity.ts';
import { checkToken, expiryOf, keptToken, scopeOf } from './token-answer.ts';
import type { Endpoint } from './upstream-errors.ts';
import { createUpstreamHttp, type UpstreamHttp } from './upstream-http.ts';

type OidcUpstream = Extract<Upstream, { type: 'oidc' }>;
type Claims = Readonly<Record<string, unknown>>;

interface Parts extends ProviderDeps {
  readonly http: UpstreamHttp;
  readonly discovery: Discovery;
}

const DEFAULT_SCOPES = ['openid', 'profile', 'email'];

/** Creates an OpenID Connect provider. @throws ConfigError */
export function createOidcProvider(upstream: OidcUpstream, deps: ProviderDeps): UpstreamProvider {
  const { name, oidc_config: config, ca_bundle_file: caFile } = upstream;
  const { issuer_url: issuer, client_secret_file: secretFile } = config;
  const clientSecret = readClientSecret(name, secretFile, deps);
  const http = createUpstreamHttp({ ...deps, name, caFile });
  const { client_id: clientId } = config;
  const keys = rememberKeys(http, deps.now);
  const discovery = new Discovery({ name, issuer, clientId, http, keys, clientSecret, now: deps.now });
  return new OidcProvider(upstream, { ...deps, http, discovery });
}

class OidcProvider implements UpstreamProvider {
  readonly name: string;
  readonly #upstream: OidcUpstream;
  readonly #parts: Parts;

  constructor(upstream: OidcUpstream, parts: Parts) {
    this.name = upstream.name;
    this.#upstream = upstream;
    this.#parts = parts;
  }

  async authorizationUrl(request: StepRequest): Promise<string> {
    const { client_id: clientId, scopes } = this.#upstream.oidc_config;
    const config = await this.#parts.discovery.get();
    const parameters = authorizationParameters(request, {
      clientId,
      redirectUri: this.#parts.redirectUri,
      scopes: scopes.length === 0 ? DEFAULT_SCOPES : [...new Set(['openid', ...scopes])],
      additional: this.#upstream.additional_authorization_params,
    });
    const url = await this.#run('authorization', () =>
      oidc.buildAuthorizationUrl(config, { ...parameters, nonce: request.nonce }),
    );
    return url.href;
  }

  async finish(callback: URL, expected: StepSecrets & { readonly state: string }): Promise<StepResult> {
    const config = await this.#parts.discovery.get();
    const answer = await this.#run('token', () =>
      oidc.authorizationCodeGrant(config, callback, {
        pkceCodeVerifier: expected.verifier,
        expectedState: expected.state,
        expectedNonce: expected.nonce,
        idTokenExpected: true,
      }),
    );
    const tokens = this.#tokensOf(answer);
    return { tokens, identity: await this.#identityAfterLogin(tokens, answer.claims() ?? {}) };
  }

  async refresh(tokens: UpstreamTokens): Promise<UpstreamTokens> {
    const { refresh_token: refreshToken } = tokens;
    if (refreshToken === undefined) throw new UpstreamRefused(`${this.name}: gave no refresh token`);
    const config = await this.#parts.discovery.get();
    const answer = await this.#run('token', () => oidc.refreshTokenGrant(config, refreshToken));
    // OpenID Connect Core §12.2: both ID tokens must belong to the same user.
    if (tokens.id_token !== undefined && answer.id_token !== undefined) {
      this.#checkSame(decodeJwt(tokens.id_token), decodeJwt(answer.id_token));
    }
    const renewed = this.#tokensOf(answer);
    return {
      ...renewed,
      refresh_token: renewed.refresh_token ?? refreshToken,
      id_token: renewed.id_token ?? tokens.id_token,
      scope: renewed.scope ?? tokens.scope,
    };
  }

  async identify(tokens: UpstreamTokens): Promise<UpstreamIdentity | undefined> {
    // The ID token was verified before it was stored.
    const claims = tokens.id_token === undefined ? {} : decodeJwt(tokens.id_token);
    const told = await this.#askUserInfo(tokens.access_token, claims).catch((error: unknown) => {
      // A new ID token from a refresh confirms the user.
      if (doesNotOpen(error) && this.#isNew(claims)) return {};
      throw error;
    });
    return told && this.#identityOf(claims, told);
  }

  close(): Promise<void> {
    return this.#parts.http.close();
  }

  /** Reads user-info only if the ID token lacks name or email, or if the configuration overrides user-info. */
  async #identityAfterLogin(tokens: UpstreamTokens, claims: Claims): Promise<UpstreamIdentity> {
    const { userinfo_override: override } = this.#upstream.oidc_config;
    const known = claims.name !== undefined && claims.email !== undefined;
    if (known && override === undefined) return this.#identityOf(claims, {});
    const told = await this.#askUserInfo(tokens.access_token, claims).catch((error: unknown) => {
      // The ID token identifies the user without user-info.
      if (doesNotOpen(error) && override?.field_mapping?.subject_fields === undefined) return {};
      throw error;
    });
    return this.#identityOf(claims, told ?? {});
  }

  async #askUserInfo(accessToken: string, claims: Claims): Promise<Claims | undefined> {
    const { userinfo_override: override } = this.#upstream.oidc_config;
    if (override) {
      const told = await askUserInfo(this.name, override, accessToken, this.#parts.http);
      if (typeof told.sub === 'string' && claims.sub !== undefined) this.#checkSame(claims, told);
      return told;
    }
    const config = await this.#parts.discovery.get();
    const { sub } = claims;
    if (config.serverMetadata().userinfo_endpoint === undefined || typeof sub !== 'string') return undefined;
    return this.#run('user-info', () => oidc.fetchUserInfo(config, accessToken, sub));
  }

  /** Combines the ID token and user-info. The ID token decides the subject; user-info wins for all other claims. */
  #identityOf(claims: Claims, told: Claims): UpstreamIdentity {
    const { issuer_url: configured, subject_claim: subject = 'sub', userinfo_override } = this.#upstream.oidc_config;
    const mapping = userinfo_override?.field_mapping;
    const renewed = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null));
    const about = { ...claims, ...renewed, ...(claims[subject] !== undefined && { [subject]: claims[subject] }) };
    const fields = identityFields(mapping);
    // `email_verified` applies to the address of the ID token only.
    const isOther = fields.email.some((field) => ![undefined, claims.email].includes(readPath(renewed, field)));
    const isSilent = isOther && renewed.email_verified === undefined && readVerified(claims.email_verified) === true;
    return readIdentity(this.name, isSilent ? { ...about, email_verified: undefined } : about, {
      // A multi-tenant provider has one issuer per tenant.
      issuer: typeof claims.iss === 'string' ? claims.iss : configured,
      fields: { ...fields, subject: mapping?.subject_fields ?? [subject] },
      keepClaims: this.#parts.isPrimary,
    });
  }

  #isNew({ iat }: Claims): boolean {
    return typeof iat === 'number' && Math.abs(this.#parts.now() - iat * 1000) < NEW;
  }

  #checkSame(before: Claims, after: Claims): void {
    if (before.sub === after.sub) return;
    throw new UpstreamUnavailable(`${this.name}: it answered about another user`, { answered: true });
  }

  #tokensOf(answer: oidc.TokenEndpointResponse): UpstreamTokens {
    return {
      access_token: checkToken(this.name, answer.access_token),
      refresh_token: keptToken(this.name, answer.refresh_token),
      expires_at: expiryOf(answer.expires_in, this.#parts.now()),
      scope: scopeOf(answer.scope),
      id_token: keptToken(this.name, answer.id_token),
    };
  }

  async #run<T>(step: 'authorization' | Endpoint, run: () => T | Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw asUpstreamError(this.name, step, error);
    }
  }
}

/** Milliseconds, including the difference between two clocks. */
const NEW = 60_000;

/** An access token for another resource, or without the scope, does not open the user-info endpoint (RFC 6750 §3.1). */
function doesNotOpen(error: unknown): boolean {
  return error instanceof UpstreamRefused || (error instanceof UpstreamUnavailable && error.status === 403);
}
