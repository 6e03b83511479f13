import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RemoteAuth } from '#crds/run-config/outgoing';
import type { AuditEvent } from '#runtime/audit/audit';
import { newId } from '#runtime/authserver/ids';
import { UpstreamRefused, UpstreamUnavailable } from '#runtime/authserver/upstream/provider';
import type { Log } from '#runtime/telemetry/log';
import type { RemoteServer } from './find-server.ts';
import type { KnownServer } from './known-server.ts';
import { registerAt } from './register-at.ts';
import type { RemoteClient } from './registered-client.ts';
import type { RemoteHttp } from './remote-http.ts';
import type { RemoteProvider } from './remote-provider.ts';
import type { RemoteStore } from './remote-store.ts';

interface LoginParts {
  readonly name: string;
  readonly auth: RemoteAuth;
  readonly store: RemoteStore;
  readonly http: RemoteHttp;
  readonly provider: RemoteProvider;
  readonly server: KnownServer<RemoteServer>;
  /** Returns the configured client with its current secret; undefined: none is configured. */
  readonly given: (server: RemoteServer) => RemoteClient | undefined;
  readonly changed: () => void;
  readonly record: (event: AuditEvent) => void;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Person {
  /** Hash of the cookie that the callback must contain; empty: any browser with the link. */
  readonly browser: string;
  readonly subjects: AuditEvent['subjects'];
}

const ON_THIS_MACHINE: Person = { browser: '', subjects: undefined };

/** A failed login. The message is for the person who logs in. */
export class LoginFailed extends Error {
  override readonly name = 'LoginFailed';
}

/** The single login at a remote server for all callers, done by an administrator. */
export class SharedLogin {
  readonly name: string;
  /** Secret part of the start URL on this machine, so that only its holder can begin the login. */
  readonly ticket = newId();
  readonly #parts: LoginParts;

  constructor(parts: LoginParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  /** Subjects of users who may begin and end the login at a page; empty: logins are done on this machine. */
  get administrators(): readonly string[] {
    return this.#parts.auth.administrators;
  }

  /** @throws StorageUnavailable */
  isLoggedIn(): Promise<boolean> {
    return this.#parts.store.hasTokens();
  }

  /** Port that receives the callback; undefined: any. */
  get callbackPort(): number | undefined {
    return this.#parts.auth.callback_port;
  }

  /** Milliseconds in which a login must finish. */
  get timeout(): number {
    return this.#parts.auth.timeout;
  }

  isTicket(given: string): boolean {
    const [a, b] = [Buffer.from(given), Buffer.from(this.ticket)];
    return a.length === b.length && timingSafeEqual(a, b);
  }

  /** Begins a login. Returns the URL for the browser. @throws LoginFailed, StorageUnavailable */
  async begin(redirectUri: string, { browser, subjects }: Person = ON_THIS_MACHINE): Promise<string> {
    const { auth, store, record } = this.#parts;
    try {
      // The remote server may have changed its issuer, so that its tokens no longer count.
      const server = await this.#parts.server(true);
      const client = await this.#clientFor(server, redirectUri);
      const [state, verifier] = [newId(), randomBytes(32).toString('base64url')];
      await store.keepPending(state, { verifier, redirect_uri: redirectUri, client, browser }, auth.timeout);
      record(this.#event('auth_login_started', 'success', subjects));
      return this.#authorizationUrl(server, client, { redirectUri, state, verifier });
    } catch (error) {
      throw this.#failed(error, subjects);
    }
  }

  /** Handles the callback of the browser. @throws LoginFailed, StorageUnavailable */
  async finish(callback: URL, { browser, subjects }: Person = ON_THIS_MACHINE): Promise<void> {
    const { store, provider, auth, record, log, changed } = this.#parts;
    const [state = '', ...more] = callback.searchParams.getAll('state');
    const pending = more.length > 0 || state === '' ? undefined : await store.takePending(state, browser);
    if (pending === undefined) {
      throw new LoginFailed('This login is over, or it was begun elsewhere: begin it again.');
    }
    try {
      const { client, redirect_uri: redirectUri } = pending;
      const verifier = auth.use_pkce ? pending.verifier : undefined;
      await store.keepTokens(await provider.redeem({ callback, state, verifier, redirectUri, client }), client);
      const { registered } = client;
      if (registered) await store.keepRegistered({ ...client, registered: { ...registered, is_doubtful: false } });
    } catch (error) {
      throw this.#failed(error, subjects);
    }
    record(this.#event('auth_login_completed', 'success', subjects));
    log.info('somebody logged in at a remote server', { backend: this.name });
    changed();
  }

  /** Ends the login. Other processes detect this within 5 s. @throws StorageUnavailable */
  async end({ subjects }: Person): Promise<void> {
    const { store, record, log, changed } = this.#parts;
    await store.forgetTokens();
    record(this.#event('auth_token_revoked', 'success', subjects));
    log.info('the login at a remote server was ended', { backend: this.name });
    changed();
  }

  /** Returns the configured client, else the one registered for this redirect URI, else a newly registered one. */
  async #clientFor(server: RemoteServer, redirectUri: string): Promise<RemoteClient> {
    const { auth, store, http, name, now, given } = this.#parts;
    const own = given(server);
    if (own) return own;
    const known = await store.registered();
    const former = known?.registered;
    const { issuer } = server.metadata;
    const fits = known?.issuer === issuer && former?.redirect_uri === redirectUri && !former.is_doubtful;
    const lasts = (known?.secret_ends_at ?? Infinity) > now() + auth.timeout;
    const registered =
      known && fits && lasts
        ? { ...known, registered: { ...former, is_doubtful: true } }
        : await registerAt(server, { name, redirectUri, http });
    await store.keepRegistered(registered);
    return registered;
  }

  #authorizationUrl(
    { metadata, scopes, resource }: RemoteServer,
    { client_id: clientId }: RemoteClient,
    { redirectUri, state, verifier }: { redirectUri: string; state: string; verifier: string },
  ): string {
    const { auth } = this.#parts;
    const url = new URL(metadata.authorization_endpoint);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const parameters = {
      ...auth.oauth_params,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
      resource,
      ...(auth.use_pkce && { code_challenge: challenge, code_challenge_method: 'S256' }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  #failed(error: unknown, subjects: Person['subjects']): unknown {
    const { log, record } = this.#parts;
    if (!(error instanceof UpstreamRefused || error instanceof UpstreamUnavailable)) return error;
    record(this.#event('auth_login_failed', 'failure', subjects));
    log.warn('a login at a remote server failed', { backend: this.name, reason: error.message });
    const isDenied = error instanceof UpstreamRefused && error.denied;
    return new LoginFailed(isDenied ? 'The login was refused there.' : error.message, { cause: error });
  }

  #event(type: AuditEvent['type'], outcome: AuditEvent['outcome'], subjects: Person['subjects']): AuditEvent {
    return { type, outcome, target: { type: 'remote_server', name: this.name }, ...(subjects && { subjects }) };
  }
}
