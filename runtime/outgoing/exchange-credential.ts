import { isBlank } from '#crds/parts/primitives';
import { hash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { UserToken } from '#runtime/authserver/user-tokens';
import { ConfigError, RequestError } from '#runtime/errors';
import { checkAuthorities } from '#runtime/http/check-authorities';
import type { Identity } from '#runtime/incoming/identity';
import type { TokenRequester } from './ask-token-endpoint.ts';
import type { IssuedToken } from './check-exchange-answer.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { createDispatcher } from './dispatcher.ts';
import { exchangeError } from './exchange-error.ts';
import type { ExchangedToken } from './exchanged-tokens.ts';
import { providerTokens, type ProviderTokens } from './provider-login.ts';

const DEADLINE = 5_000;
const CONNECT_TIMEOUT = 3_000;
const CONNECTIONS = 16;

/** A token that can be obtained for one caller. */
export interface Grant {
  /** Callers with equal keys share the token. */
  readonly key: string;
  /** Milliseconds since the epoch. The token is not used longer. */
  readonly expiresAt: number;
  /** @throws RequestError whose cause names the problem, without any token */
  readonly obtain: (requester: TokenRequester) => Promise<IssuedToken>;
}

/** Describes one type of credential that obtains a token for a backend at a token endpoint. */
export interface Exchange {
  readonly authType: string;
  /** Provider whose stored token is used; absent: none. */
  readonly provider?: string | undefined;
  /** Requests hold assertions that an endpoint accepts once. */
  readonly isSingleUse?: boolean;
  /** All callers share one token. */
  readonly isShared: boolean;
  readonly headerName: string | undefined;
  readonly caBundleFile: string | undefined;
  readonly secretFiles: readonly (string | undefined)[];
  /** Checks the current secrets. @throws ConfigError */
  readonly check?: (secretOf: TokenRequester['secretOf']) => void;
  /** `stored`: the caller's token of `provider`. @throws RequestError if the caller has no usable token */
  readonly grantFor: (identity: Identity, stored: UserToken | undefined) => Grant;
  /** Checks that the stored token can be used. @throws LoginNeeded, RequestError */
  readonly checkStored?: (identity: Identity, stored: UserToken) => Promise<unknown>;
}

interface Resolved {
  readonly digest: string;
  readonly dispatcher: Dispatcher;
  readonly secretOf: TokenRequester['secretOf'];
}

/** Obtains tokens for one backend, and caches them by settings and grant. */
export class ExchangeCredential implements Credential {
  readonly authType: string;
  readonly perUser: boolean;
  readonly login?: ProviderTokens;
  readonly #exchange: Exchange;
  readonly #auth: object;
  readonly #deps: CredentialDeps;
  readonly #headerName: string;
  readonly #files: readonly string[];
  /** Last token of an identity or a stored token, so that a cache hit computes no hash. */
  readonly #known = new WeakMap<object, { digest: string; token: ExchangedToken }>();
  readonly #keys = new WeakMap<CredentialHeaders, string>();
  #seen: readonly string[];
  #resolved: Resolved;

  /** `auth`: the settings, which are part of the cache key. @throws ConfigError */
  constructor(auth: object, exchange: Exchange, deps: CredentialDeps) {
    this.authType = exchange.authType;
    this.perUser = !exchange.isShared;
    this.#auth = auth;
    this.#exchange = exchange;
    this.#deps = deps;
    const { provider, checkStored } = exchange;
    if (provider !== undefined) this.login = providerTokens(exchange.authType, provider, deps, checkStored);
    this.#headerName = (exchange.headerName ?? 'authorization').toLowerCase();
    this.#files = [exchange.caBundleFile, ...exchange.secretFiles].filter((file) => file !== undefined);
    this.#seen = this.#read();
    this.#resolved = this.#resolve(this.#seen);
  }

  headersFor(identity: Identity): CredentialHeaders | Promise<CredentialHeaders> {
    if (this.login === undefined) return this.#headersOf(identity, undefined);
    const stored = this.login.get(identity);
    return stored instanceof Promise
      ? stored.then((got) => this.#headersOf(identity, got))
      : this.#headersOf(identity, stored);
  }

  invalidate(identity: Identity, refused: CredentialHeaders): boolean {
    const key = this.#keys.get(refused);
    // If many calls are refused together, the first one renews for all.
    if (key !== undefined && this.#deps.exchanged.get(key)?.headers === refused) this.#deps.exchanged.drop(key);
    return this.#exchange.isShared || identity.token !== undefined;
  }

  close(): void {
    void this.#resolved.dispatcher.close();
  }

  #headersOf(identity: Identity, stored: UserToken | undefined): CredentialHeaders | Promise<CredentialHeaders> {
    const holder = this.#exchange.isShared ? this.#exchange : (stored ?? identity);
    const hit = this.#hitOf(holder);
    if (hit !== undefined) return hit;
    const made = this.#lookUp(this.#exchange.grantFor(identity, stored), holder);
    if (stored === undefined) return made;
    if (made instanceof Promise) {
      return made.then((headers) => {
        this.login?.made(headers, stored.accessToken);
        return headers;
      });
    }
    this.login?.made(made, stored.accessToken);
    return made;
  }

  #hitOf(holder: object): CredentialHeaders | undefined {
    const known = this.#known.get(holder);
    if (known === undefined || known.token.dropped || known.digest !== this.#current().digest) return undefined;
    return this.#deps.now() < known.token.refreshAt ? this.#hit(known.token) : undefined;
  }

  #hit(token: ExchangedToken): CredentialHeaders {
    token.used = true;
    this.#deps.count?.('hit');
    return token.headers;
  }

  #lookUp(grant: Grant, holder: object): CredentialHeaders | Promise<CredentialHeaders> {
    const { digest } = this.#current();
    const key = digest + hash('sha256', grant.key, 'base64url');
    const exchange = () => this.#obtain(grant);
    const token = this.#deps.exchanged.serving(key, exchange);
    if (token === undefined) return this.#await(key, exchange);
    this.#known.set(holder, { digest, token });
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

  async #obtain(grant: Grant): Promise<ExchangedToken> {
    const { backend, now, exchangeDeadline: deadline = DEADLINE, log, count } = this.#deps;
    const { secretOf, dispatcher } = this.#current();
    try {
      const { accessToken, expiresAt } = await grant.obtain({ backend, secretOf, dispatcher, deadline, now });
      const obtainedAt = now();
      const lifetime = expiresAt - obtainedAt;
      // Not past the subject token's expiry, and not in the token's own last moments, as a call takes time.
      const usableUntil = Math.min(expiresAt - Math.min(5_000, lifetime / 10), grant.expiresAt);
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
    if (values.every((value, index) => value === this.#seen[index])) return this.#resolved;
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

  #read(): string[] {
    return this.#files.map((file) => this.#deps.readSecret(file));
  }

  /** @throws ConfigError */
  #resolve(values: readonly string[]): Resolved {
    const { backend, proxy } = this.#deps;
    const { caBundleFile, check, isSingleUse } = this.#exchange;
    const texts = new Map(this.#files.map((file, index) => [file, values[index] ?? '']));
    const secretOf = (file: string | undefined) => (file === undefined ? undefined : texts.get(file));
    const caBundle = secretOf(caBundleFile);
    for (const [file, text] of texts) {
      if (file !== caBundleFile && isBlank(text)) throw new ConfigError(`backend ${backend}: ${file} is empty`);
    }
    check?.(secretOf);
    if (caBundle !== undefined) checkAuthorities(caBundle, `backend ${backend}: ${caBundleFile}`);
    const digest = hash('sha256', JSON.stringify([this.#auth, values]), 'base64url');
    // A request that cannot be sent again must not use an idle connection, which the server may be closing.
    const keepAlive = isSingleUse !== true;
    const connect = { connectTimeout: CONNECT_TIMEOUT, connections: CONNECTIONS, keepAlive };
    const dispatcher = createDispatcher({ caBundle, proxy, ...connect });
    return { digest, secretOf, dispatcher };
  }
}
