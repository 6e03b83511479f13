import { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';

/** Access token of a provider for one user. */
export interface UserToken {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  /** Milliseconds since the epoch. Undefined if the provider does not return it. */
  readonly expiresAt: number | undefined;
}

/** The user has to log in at `provider`. Calls that need this provider return instructions; all others continue. */
export class LoginNeeded extends RequestError {
  readonly provider: string;
  constructor(provider: string, options?: ErrorOptions) {
    super({ status: 200, code: 'login_needed', text: `Log in at ${provider} first`, rpc: { code: -32603 } }, options);
    this.provider = provider;
  }
}

/** Stored upstream tokens of the users, for boundary 2. The identity's `subject` selects the user. */
export interface UserTokens {
  /**
   * Returns the current token, synchronously from a cache of at most 5 s. It is renewed before its end, once for all replicas. @throws
   * LoginNeeded when it was never linked, was revoked, or cannot be renewed @throws RequestError 503 when the storage or the provider
   * does not answer
   */
  get(identity: Identity, provider: string): UserToken | Promise<UserToken>;
  /**
   * Returns the tokens once they hold a current ID token, renewed if needed, once for all replicas. Without a refresh token, or if the
   * provider sends no new ID token, they hold the old one. @throws LoginNeeded, RequestError as `get`
   */
  renewIdToken(
    identity: Identity,
    provider: string,
    isCurrent: (idToken: string | undefined) => boolean,
  ): Promise<UserToken>;
  /**
   * Reports a token that a backend rejected, so that the next `get` renews it once. Returns false when a renewed token
   * was rejected too.
   */
  refused(identity: Identity, provider: string, accessToken: string): boolean;
  /** Marks the provider as in need of a login, because a backend rejects the token, or a token exchanged for it, even when new. */
  barred(identity: Identity, provider: string, accessToken: string): void;
  /** Returns a single-use URL, valid for 10 min, at which only this user can link the provider. */
  linkUrl(identity: Identity, provider: string): Promise<string>;
  /** Registers a listener for changes of a user's links in this process. It gets `sub`, and makes lists be fetched again. */
  onChange(listener: (sub: string) => void): void;
}
