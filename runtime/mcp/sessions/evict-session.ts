import { RequestError } from '#runtime/errors';
import type { SessionLimits } from './session-limits.ts';
import type { Session } from './session.ts';

export interface Eviction {
  readonly reason: 'principal' | 'replica';
  /** `Identity.key` of the owner; undefined if its record cannot be opened. */
  readonly principal: string | undefined;
  readonly session: string;
  readonly revision: string | undefined;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
  /** Milliseconds since its last use. */
  readonly idle: number;
}

/** A principal without a quota of its own has that of the replica. */
export function evictionReason({ perPrincipal, perReplica }: SessionLimits): Eviction['reason'] {
  return perPrincipal < perReplica ? 'principal' : 'replica';
}

/** Milliseconds. Calls in flight may end at any time. */
const CALL_RETRY = 5_000;
const LEAST_RETRY = 1_000;
const LONGEST_RETRY = 60_000;
/** The HTTP status as a JSON-RPC code, as the rate limits use it. */
const TOO_MANY_REQUESTS = 429;

/** `evictableAfter`: a younger session is safe. @throws RequestError if every session is too young or has a call in flight */
export function pickIdlest(
  sessions: Iterable<Session>,
  { now, evictableAfter }: { readonly now: number; readonly evictableAfter: number },
): Session {
  let idlest: Session | undefined;
  let wait = evictableAfter;
  for (const session of sessions) {
    const young = session.openedAt + evictableAfter - now;
    if (young > 0) wait = Math.min(wait, young);
    else if (session.calls > 0) wait = Math.min(wait, CALL_RETRY);
    else if (idlest === undefined || session.lastUsed < idlest.lastUsed) idlest = session;
  }
  if (!idlest) throw tooManySessions(wait);
  return idlest;
}

/** HTTP 200, as clients break on 429 and 503. `wait`: milliseconds until a session can be evicted. */
export function tooManySessions(wait: number): RequestError {
  const retryAfterMs = Math.min(Math.max(LEAST_RETRY, Math.ceil(wait)), LONGEST_RETRY);
  return new RequestError({
    status: 200,
    code: 'too_many_sessions',
    text: `Too many sessions are open: close one, or try again in ${Math.ceil(retryAfterMs / 1000)} s`,
    rpc: { code: TOO_MANY_REQUESTS, data: { reason: 'too_many_sessions', retryAfterMs } },
  });
}
