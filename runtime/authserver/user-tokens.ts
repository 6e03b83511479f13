import { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';

/** An access token of a provider, for one user. */
export interface UserToken {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  /** Milliseconds since the epoch; undefined: the provider does not say. */
  readonly expiresAt: number | undefined;
}

/** The user has to log in at that provider; `provider` names it. Calls that need it say how, all others go on. */
export class LoginNeeded extends RequestError {
  readonly provider: string;
  constructor(provider: string, options?: ErrorOptions) {
    super({ status: 200, code: 'login_needed', text: `Log in at ${provider} first`, rpc: { code: -32603 } }, options);
    this.provider = provider;
  }
}

/** The stored upstream tokens of the users, for boundary 2. A user is the identity's `subject`: never another's tokens. */
export interface UserTokens {
  /**
   * The token in force, renewed before its end, once for all replicas; at once where it is remembered (≤ 5 s).
   * @throws LoginNeeded: never linked, revoked, or the provider refused to renew it
   * @throws RequestError 503: the storage or the provider does not answer
   */
  get(identity: Identity, provider: string): UserToken | Promise<UserToken>;
  /** A backend refused this token: the next `get` renews it, once. False: it was renewed already, and refused again. */
  refused(identity: Identity, provider: string, accessToken: string): boolean;
  /** A backend refuses this token, or what was exchanged for it, also when that is new: the provider needs a login. */
  barred(identity: Identity, provider: string, accessToken: string): void;
  /** A URL, single use, 10 min, by which this user and nobody else links that provider. */
  linkUrl(identity: Identity, provider: string): Promise<string>;
  /** Called with `sub` when a user's links change in this process, so that lists are fetched again. */
  onChange(listener: (sub: string) => void): void;
}
