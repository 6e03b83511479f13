import type { UserToken } from '#runtime/authserver/user-tokens';
import type { TokenExchange } from '#crds/run-config/outgoing';
import type { Identity } from '#runtime/incoming/identity';
import { exchangeError } from './exchange-error.ts';

/** The token that is exchanged. */
export interface Subject {
  /** Stays the same object for as long as the token does. */
  readonly holder: Identity | UserToken;
  readonly text: string;
  /** Names whose token it is, and which, in keys of the cache. */
  readonly key: string;
  /** Milliseconds since the epoch: what was exchanged for it is not used longer. */
  readonly expiresAt: number;
}

/** The caller's own token. @throws RequestError where the caller has none, or it is over */
export function ownSubject(identity: Identity, backend: string, now: number): Subject {
  const { token, expiresAt } = identity;
  if (token === undefined || now >= expiresAt) {
    throw exchangeError('token_exchange_no_subject', backend, new Error('no valid subject token'));
  }
  return { holder: identity, text: token, key: token, expiresAt };
}

const ID_TOKEN = /(^|:)id_token$/;

/** The caller's stored token of a provider: the ID token where that is what the endpoint takes. @throws RequestError */
export function storedSubject(
  identity: Identity,
  token: UserToken,
  { subject_token_type: type = 'access_token' }: TokenExchange,
  backend: string,
): Subject {
  const text = ID_TOKEN.test(type) ? token.idToken : token.accessToken;
  if (text === undefined) {
    throw exchangeError('token_exchange_no_id_token', backend, new Error('the provider gave no ID token'));
  }
  // Two users may have linked one account, and still never share what was exchanged.
  return { holder: token, text, key: JSON.stringify([identity.key, text]), expiresAt: token.expiresAt ?? Infinity };
}
