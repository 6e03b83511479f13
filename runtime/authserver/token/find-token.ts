import { UnknownSecret } from '#runtime/keys/secret-ring';
import { hashId } from '../ids.ts';
import type { ActiveSession } from '../storage/rows.ts';
import { readRefreshToken, type RefreshToken } from '../token-formats/refresh-token.ts';
import { verifyOwnJwt, type OwnClaims } from '../token-formats/verify-own-jwt.ts';
import type { TokenSettings } from './token-settings.ts';

export type FoundToken = { readonly key: string; readonly session: ActiveSession } & (
  { readonly kind: 'access'; readonly claims: OwnClaims } | { readonly kind: 'refresh'; readonly gen: number }
);

type FindSettings = Pick<TokenSettings, 'storage' | 'secrets' | 'keys' | 'issuer' | 'now'>;

/** Returns undefined for a foreign or expired token, or an ended session. Rejects forged tokens without a read of the storage. */
export async function findToken(text: string, settings: FindSettings): Promise<FoundToken | undefined> {
  const { storage, secrets, keys, issuer, now } = settings;
  const refresh = readQuietly(secrets, text);
  if (refresh) {
    const key = hashId(refresh.secret);
    const session = await storage.getSession(key);
    return session && { kind: 'refresh', key, session, gen: refresh.gen };
  }
  const claims = await verifyOwnJwt(text, { jwks: keys.jwks, issuer, now: now() });
  const session = claims && (await storage.getSession(claims.tsid));
  if (session?.sub !== claims?.sub || session?.client_id !== claims?.client_id) return undefined;
  return claims && session && { kind: 'access', key: claims.tsid, session, claims };
}

function readQuietly(secrets: FindSettings['secrets'], text: string): RefreshToken | undefined {
  try {
    return readRefreshToken(secrets, text);
  } catch (error) {
    if (error instanceof UnknownSecret) return undefined;
    throw error;
  }
}
