import { timingSafeEqual } from 'node:crypto';
import type { ActiveSession } from '../storage/rows.ts';
import type { TokenParts } from '../token-formats/refresh-token.ts';

/** Session and refresh token as last read, so that the next request needs no MAC. Without the secret part, an attacker cannot use it. */
export interface KnownSession {
  readonly session: ActiveSession;
  readonly issued: Buffer;
}

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
