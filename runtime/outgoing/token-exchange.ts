import { isBlank } from '#crds/parts/primitives';
import { hash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { UserToken } from '#runtime/authserver/user-tokens';
import { isLoopbackHost } from '#crds/parts/private-address';
import type { TokenExchange } from '#crds/run-config/outgoing';
import { ConfigError, RequestError } from '#runtime/errors';
import { checkAuthorities } from '#runtime/http/check-authorities';
import type { Identity } from '#runtime/incoming/identity';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { createDispatcher } from './dispatcher.ts';
import { exchangeError } from './exchange-error.ts';
import { ownSubject, storedSubject, type Subject } from './exchange-subject.ts';
import { exchangeToken } from './exchange-token.ts';
import type { ExchangedToken } from './exchanged-tokens.ts';
import { providerTokens, type ProviderTokens } from './provider-login.ts';

const DEADLINE = 5_000;
const CONNECT_TIMEOUT = 3_000;
const CONNECTIONS = 16;

interface Values {
  readonly clientSecret: string | undefined;
  readonly caBundle: string | undefined;
}

interface Resolved extends Values {
  readonly digest: string;
  readonly dispatcher: Dispatcher;
}

/** Exchanges the caller's own or stored token (RFC 8693). The cache key is configuration and subject token. @throws ConfigError */
export function tokenExchange(auth: TokenExchange, deps: CredentialDeps): Credential {
  warnOfPlainHttp(auth, deps);
  return new TokenExchangeCredential(auth, deps);
}

function warnOfPlainHttp({ token_url }: TokenExchange, { backend, log }: CredentialDeps): void {
  const { protocol, hostname } = new URL(token_url);
  if (protocol !== 'http:' || isLoopbackHost(hostname)) return;
  log.warn('token exchange without TLS: callers’ tokens cross the network in clear text', { backend });
}

class TokenExchangeCredential implements Credential {
  readonly authType = 'tokenExchange';
  readonly perUser = true;
  readonly login?: ProviderTokens;
  readonly #auth: TokenExchange;
  readonly #deps: CredentialDeps;
  readonly #headerName: string;
  /** Last token of an identity or a stored token, so that a cache hit computes no hash. */
  readonly #known = new WeakMap<Subject['holder'], { digest: string; token: ExchangedToken }>();
  readonly #keys = new WeakMap<CredentialHeaders, string>();
  #seen: Values;
  #resolved: Resolved;

  constructor(auth: TokenExchange, deps: CredentialDeps) {
    this.#auth = auth;
    this.#deps = deps;
    const { subject_provider_name: provider } = auth;
    if (provider !== undefined) this.login = providerTokens('tokenExchange', provider, deps);
    this.#headerName = (auth.external_token_header_name ?? 'authorization').toLowerCase();
    this.#seen = this.#read();
    this.#resolved = this.#resolve(this.#seen);
  }

  headersFor(identity: Identity): CredentialHeaders | Promise<CredentialHeaders> {
    if (this.login === undefined) return this.#hitOf(identity) ?? this.#lookUp(this.#own(identity));
    const token = this.login.get(identity);
    return token instanceof Promise
      ? token.then((got) => this.#headersOf(identity, got))
      : this.#headersOf(identity, token);
  }

  invalidate(identity: Identity, refused: CredentialHeaders): boolean {
    const key = this.#keys.get(refused);
    // If many calls are refused together, the first one renews for all.
    if (key !== undefined && this.#deps.exchanged.get(key)?.headers === refused) this.#deps.exchanged.drop(key);
    return identity.token !== undefined;
  }

  close(): void {
    void this.#resolved.dispatcher.close();
  }

  #own(identity: Identity): Subject {
    return ownSubject(identity, this.#deps.backend, this.#deps.now());
  }

  #headersOf(identity: Identity, token: UserToken): CredentialHeaders | Promise<CredentialHeaders> {
    const hit = this.#hitOf(token);
    if (hit !== undefined) return hit;
    const made = this.#lookUp(storedSubject(identity, token, this.#auth, this.#deps.backend));
    if (made instanceof Promise) {
      return made.then((headers) => {
        this.login?.made(headers, token.accessToken);
        return headers;
      });
    }
    this.login?.made(made, token.accessToken);
    return made;
  }

  #hitOf(holder: Subject['holder']): CredentialHeaders | undefined {
    const known = this.#known.get(holder);
    if (known === undefined || known.token.dropped || known.digest !== this.#current().digest) return undefined;
    return this.#deps.now() < known.token.refreshAt ? this.#hit(known.token) : undefined;
  }

  #hit(token: ExchangedToken): CredentialHeaders {
    token.used = true;
    this.#deps.count?.('hit');
    return token.headers;
  }

  #lookUp(subject: Subject): CredentialHeaders | Promise<CredentialHeaders> {
    const { digest } = this.#current();
    const key = digest + hash('sha256', subject.key, 'base64url');
    const exchange = () => this.#exchange(subject);
    const token = this.#deps.exchanged.serving(key, exchange);
    if (token === undefined) return this.#await(key, exchange);
    this.#known.set(subject.holder, { digest, token });
    this.#keys.set(token.headers, key);
    return this.#hit(token);
  }

  async #await(key: string, exchange: () => Promise<ExchangedToken>): Promise<CredentialHeaders> {
    const flight = this.#deps.exchanged.obtain(key, exchange);
    if (flight === undefined) {
      throw exchangeError('token_exchange_busy', this.#deps.backend, new Error('too many exchanges in flight'));
    }
    const { headers } = await flight;
    this.#keys.set(headers, key);
    return headers;
  }

  async #exchange(subject: Subject): Promise<ExchangedToken> {
    const { backend, now, exchangeDeadline: deadline = DEADLINE, log, count } = this.#deps;
    const { clientSecret, dispatcher } = this.#current();
    try {
      const call = { backend, clientSecret, subjectToken: subject.text, dispatcher, deadline, now };
      const { accessToken, expiresAt } = await exchangeToken(this.#auth, call);
      const obtainedAt = now();
      const lifetime = expiresAt - obtainedAt;
      // Not past the subject token's expiry, and not in the token's own last moments, as a call takes time.
      const usableUntil = Math.min(expiresAt - Math.min(5_000, lifetime / 10), subject.expiresAt);
      count?.('exchanged');
      return {
        headers: Object.freeze([this.#headerName, `Bearer ${accessToken}`]),
        refreshAt: Math.min(expiresAt - Math.min(60_000, lifetime / 5), usableUntil),
        usableUntil,
        dropped: false,
        used: true,
      };
    } catch (error) {
      count?.('failed');
      log.warn('token exchange failed', {
        backend,
        code: error instanceof RequestError ? error.answer.code : '',
        error,
      });
      throw error;
    }
  }

  /** Returns the current configuration, rebuilt after a file change: tokens of the old credentials must not be used with the new ones. */
  #current(): Resolved {
    const values = this.#read();
    const { clientSecret, caBundle } = this.#seen;
    if (values.clientSecret === clientSecret && values.caBundle === caBundle) return this.#resolved;
    this.#seen = values;
    try {
      const { dispatcher } = this.#resolved;
      this.#resolved = this.#resolve(values);
      void dispatcher.close();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const { backend, log } = this.#deps;
      log.warn('changed files of a token exchange cannot be used; the former stay', { backend, reason: error.message });
    }
    return this.#resolved;
  }

  #read(): Values {
    const { client_secret_file: secretFile, ca_bundle_file: caFile } = this.#auth;
    const { readSecret } = this.#deps;
    return {
      clientSecret: secretFile === undefined ? undefined : readSecret(secretFile),
      caBundle: caFile === undefined ? undefined : readSecret(caFile),
    };
  }

  /** @throws ConfigError */
  #resolve({ clientSecret, caBundle }: Values): Resolved {
    const { backend, proxy } = this.#deps;
    const { client_secret_file: secretFile = '', ca_bundle_file: caFile = '' } = this.#auth;
    if (clientSecret !== undefined && isBlank(clientSecret))
      throw new ConfigError(`backend ${backend}: ${secretFile} is empty`);
    if (caBundle !== undefined) checkAuthorities(caBundle, `backend ${backend}: ${caFile}`);
    const digest = hash('sha256', JSON.stringify([this.#auth, clientSecret, caBundle]), 'base64url');
    const dispatcher = createDispatcher({ caBundle, proxy, connectTimeout: CONNECT_TIMEOUT, connections: CONNECTIONS });
    return { digest, clientSecret, caBundle, dispatcher };
  }
}
