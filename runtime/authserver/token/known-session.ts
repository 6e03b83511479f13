import { timingSafeEqual } from 'node:crypto';
import type { LiveSession } from '../storage/rows.ts';
import type { TokenParts } from '../token-formats/refresh-token.ts';

/**
 * A session as the storage last gave it, and the refresh token that was issued then, so that the next request need not compute its MAC
 * anew. Of the token only what does not open anything is kept: its secret part is not there.
 */
export interface KnownSession {
  readonly session: LiveSession;
  readonly issued: Buffer;
}

/** Bounded. */
export type KnownSessions = Pick<Map<string, KnownSession>, 'get' | 'set' | 'delete'>;

/** All of a token but its secret part, which the key of the session stands for. */
export function withoutSecret({ kid, gen, mac }: TokenParts): Buffer {
  return Buffer.from(`${kid}.${gen}.${mac}`);
}

/**
 * Whether this is the token that was issued last, made under a secret that is still there, as its name (`kids`) is. Any other one is to be
 * checked by its MAC.
 */
export function isLastIssued(parts: TokenParts, { issued }: KnownSession, kids: readonly string[]): boolean {
  const given = withoutSecret(parts);
  return kids.includes(parts.kid) && given.length === issued.length && timingSafeEqual(given, issued);
}
