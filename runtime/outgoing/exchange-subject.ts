import type { UserToken } from '#runtime/authserver/user-tokens';
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

/** Returns the caller's stored access token of a provider. */
export function storedSubject(identity: Identity, { accessToken: text, expiresAt = Infinity }: UserToken): Subject {
  // Two users may link one account, but never share exchanged tokens.
  return { text, key: JSON.stringify([identity.key, text]), expiresAt };
}
