import { LoginNeeded, type UserToken } from '#runtime/authserver/user-tokens';
import type { StoredUserTokens } from '#runtime/authserver/upstream-tokens/create-user-tokens';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Identity } from '#runtime/incoming/identity';
import type { Credential, CredentialHeaders } from '#runtime/outgoing/credential';
import type { Log } from '#runtime/telemetry/log';
import { RemoteLoginNeeded } from './remote-login-needed.ts';
import { SHARED, type RemoteStore } from './remote-store.ts';
import type { SharedLogin } from './shared-login.ts';

/** Issuer of the single identity of all callers at the remote server. No token contains it. */
export const SHARED_ISSUER = 'vmcp:remote-login';
const SHARED_IDENTITY: Identity = { ...ANONYMOUS, issuer: SHARED_ISSUER, subject: SHARED, token: '' };

/** Milliseconds between checks for a login by another process. */
const LOOK_EVERY = 2_000;

interface CredentialParts {
  readonly backend: string;
  readonly store: RemoteStore;
  readonly tokens: StoredUserTokens;
  readonly login: SharedLogin;
  readonly log: Log;
  readonly close: () => Promise<void>;
}

/** Sends the token of a login at a remote server, the same for every caller. */
export class RemoteCredential implements Credential {
  readonly authType = 'remoteAuth';
  readonly perUser = false;
  readonly sharedLogin: SharedLogin;
  readonly #parts: CredentialParts;
  readonly #made = new WeakMap<CredentialHeaders, string>();
  readonly #known = new WeakMap<UserToken, CredentialHeaders>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: CredentialParts) {
    this.#parts = parts;
    this.sharedLogin = parts.login;
  }

  headersFor(): CredentialHeaders | Promise<CredentialHeaders> {
    try {
      const token = this.#parts.tokens.get(SHARED_IDENTITY, this.#parts.store.id);
      if (!(token instanceof Promise)) return this.#headersOf(token);
      return token.then(
        (got) => this.#headersOf(got),
        (error: unknown) => {
          throw this.#explained(error);
        },
      );
    } catch (error) {
      throw this.#explained(error);
    }
  }

  invalidate(_identity: Identity, refused: CredentialHeaders): boolean {
    const { tokens, store } = this.#parts;
    const accessToken = this.#made.get(refused);
    return accessToken !== undefined && tokens.refused(SHARED_IDENTITY, store.id, accessToken);
  }

  onChange(listener: () => void): void {
    this.#parts.tokens.onChange(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const { tokens, log, backend, close } = this.#parts;
    tokens.close();
    close().catch((error: unknown) => log.error('the store of a remote login did not close', { backend, error }));
  }

  #headersOf(token: UserToken): CredentialHeaders {
    const known = this.#known.get(token);
    if (known) return known;
    const headers = Object.freeze(['authorization', `Bearer ${token.accessToken}`]);
    this.#known.set(token, headers);
    this.#made.set(headers, token.accessToken);
    return headers;
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof LoginNeeded)) return error;
    this.#awaitLogin();
    return new RemoteLoginNeeded(this.#parts.backend, { cause: error });
  }

  /** The login may happen at another process or another replica. */
  #awaitLogin(): void {
    if (!this.#isClosed) this.#timer ??= setInterval(() => void this.#look(), LOOK_EVERY).unref();
  }

  async #look(): Promise<void> {
    const { store, tokens, log, backend } = this.#parts;
    try {
      if (this.#isClosed || !(await store.hasTokens())) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
      tokens.changed(SHARED);
    } catch (error) {
      log.debug('it cannot be seen whether somebody has logged in', { backend, error });
    }
  }
}
