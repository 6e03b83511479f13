import type { UserToken } from '#runtime/authserver/user-tokens';
import type { TokenExchange } from '#crds/run-config/outgoing';
import type { Identity } from '#runtime/incoming/identity';
import { exchangeError } from './exchange-error.ts';

export interface Subject {
  readonly text: string;
  readonly key: string;
  /** Milliseconds since the epoch. Tokens exchanged for this one are not used longer. */
  readonly expiresAt: number;
}

/** Returns the caller's own token. @throws RequestError if the caller has none, or it has expired */
export function ownSubject(identity: Identity, backend: string, now: number): Subject {
  const { token, expiresAt } = identity;
  if (token === undefined || now >= expiresAt) {
    throw exchangeError('token_exchange_no_subject', backend, new Error('no valid subject token'));
  }
  return { text: token, key: token, expiresAt };
}

const ID_TOKEN = /(^|:)id_token$/;

/** Returns the caller's stored token of a provider, or the ID token if the endpoint takes that. @throws RequestError */
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
  // Two users may link one account, but never share exchanged tokens.
  return { text, key: JSON.stringify([identity.key, text]), expiresAt: token.expiresAt ?? Infinity };
}
