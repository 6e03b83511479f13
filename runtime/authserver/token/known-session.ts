import { timingSafeEqual } from 'node:crypto';
import type { ActiveSession } from '../storage/rows.ts';
import type { TokenParts } from '../token-formats/refresh-token.ts';

/**
 * Session as last read, and the refresh token issued then, so that the next request needs no MAC computation. The
 * secret part of the token is not kept, so the rest is useless to an attacker.
 */
export interface KnownSession {
  readonly session: ActiveSession;
  readonly issued: Buffer;
}

/** Bounded map of sessions by key. */
export type KnownSessions = Pick<Map<string, KnownSession>, 'get' | 'set' | 'delete'>;

/** Returns a token without its secret part. The key of the session identifies that part. */
export function withoutSecret({ kid, gen, mac }: TokenParts): Buffer {
  return Buffer.from(`${kid}.${gen}.${mac}`);
}

/** Returns whether the token is the last issued one and its secret is still in `kids`. Other tokens need a MAC check. */
export function isLastIssued(parts: TokenParts, { issued }: KnownSession, kids: readonly string[]): boolean {
  const given = withoutSecret(parts);
  return kids.includes(parts.kid) && given.length === issued.length && timingSafeEqual(given, issued);
}
