import { decodeJwt } from 'jose';
import { LoginNeeded, type UserToken } from '#runtime/authserver/user-tokens';
import type { Identity } from '#runtime/incoming/identity';
import type { CredentialDeps } from './credential-deps.ts';
import { exchangeError } from './exchange-error.ts';

/** Milliseconds that an ID token must still be valid, as the token endpoint reads it later. */
const MARGIN = 10_000;

/**
 * Returns a function that returns a valid ID token of a caller. The stored expiry is that of the access token, and a renewal may keep an
 * old ID token: then the caller must log in again. @throws LoginNeeded, RequestError
 */
export function createIdTokens(provider: string, { backend, userTokens, now }: CredentialDeps) {
  /** Tokens that no renewal has given a valid ID token, so that each is renewed once. */
  const outdated = new WeakSet<UserToken>();
  return async (identity: Identity, stored: UserToken): Promise<string> => {
    const isCurrent = (idToken: string | undefined, margin = MARGIN) => endOf(idToken) > now() + margin;
    if (stored.idToken === undefined)
      throw exchangeError('token_exchange_no_id_token', backend, new Error('the provider gave no ID token'));
    if (isCurrent(stored.idToken)) return stored.idToken;
    if (userTokens === undefined || outdated.has(stored)) throw new LoginNeeded(provider);
    const renewed = await userTokens.renewIdToken(identity, provider, isCurrent);
    if (renewed.idToken !== undefined && isCurrent(renewed.idToken, 0)) return renewed.idToken;
    outdated.add(renewed);
    throw new LoginNeeded(provider);
  };
}

/** Returns the end of an ID token in milliseconds since the epoch. The identity provider judges a token without a readable end. */
export function endOf(idToken: string | undefined): number {
  try {
    return idToken === undefined ? -Infinity : (decodeJwt(idToken).exp ?? Infinity) * 1000;
  } catch {
    return Infinity;
  }
}

/** Names the account at the provider, so that another account that a user links later never gets its tokens. */
export function accountOf(idToken = ''): unknown {
  try {
    const { iss, sub } = decodeJwt(idToken);
    return [iss, sub];
  } catch {
    return idToken;
  }
}
