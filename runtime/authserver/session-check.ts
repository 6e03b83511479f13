import { BoundedMap } from '#runtime/bounded-map';
import { RequestError } from '#runtime/errors';
import type { StoredClaim } from '#runtime/incoming/identity';
import type { SessionCheck } from './auth-server.ts';
import { StorageUnavailable, type AuthStorage } from './storage/storage.ts';

export interface SwitchableSessionCheck extends SessionCheck {
  forget(key: string): void;
  forgetUser(sub: string): void;
}

type Claims = Readonly<Record<string, StoredClaim>>;

interface Remembered {
  readonly session: { readonly sub: string; readonly clientId: string; readonly claims: Claims } | undefined;
  /** Time of the read, in milliseconds since the epoch. */
  readonly at: number;
}

/** Milliseconds for which the end of a session at another replica may stay unnoticed. */
const REMEMBERED_FOR = 5_000;
const MAX_REMEMBERED = 10_000;

/** Creates the session check. It answers from a cache of at most 5 s; concurrent checks share one read. */
export function createSessionCheck(storage: AuthStorage, now: () => number): SwitchableSessionCheck {
  const remembered = new BoundedMap<string, Remembered>(MAX_REMEMBERED);
  const inFlight = new Map<string, Promise<Remembered>>();

  async function look(tsid: string): Promise<Remembered> {
    // The time before the read counts: a result that was read before an end must not be remembered after it.
    const at = now();
    const found = await getSession(storage, tsid);
    const before = remembered.get(tsid)?.session;
    const claims = found && keepSame(before?.claims, found.user.claims);
    return { session: found && claims && { sub: found.sub, clientId: found.client_id, claims }, at };
  }

  function lookOnce(tsid: string): Promise<Remembered> {
    const started = inFlight.get(tsid);
    if (started) return started;
    const looking: Promise<Remembered> = look(tsid)
      .then((fresh) => {
        if (inFlight.get(tsid) === looking) remembered.set(tsid, fresh);
        return fresh;
      })
      .finally(() => {
        if (inFlight.get(tsid) === looking) inFlight.delete(tsid);
      });
    inFlight.set(tsid, looking);
    return looking;
  }

  return {
    claimsOf(token, oldest = REMEMBERED_FOR) {
      const known = remembered.get(token.tsid);
      if (known !== undefined && now() - known.at < oldest) return claimsFor(token, known);
      return lookOnce(token.tsid).then((fresh) => claimsFor(token, fresh));
    },
    forget(key) {
      remembered.delete(key);
      inFlight.delete(key);
    },
    forgetUser(sub) {
      for (const [key, { session }] of remembered) if (session?.sub === sub) remembered.delete(key);
      // The users of these sessions are not known yet.
      inFlight.clear();
    },
  };
}

function claimsFor(
  { subject, clientId }: Parameters<SessionCheck['claimsOf']>[0],
  { session }: Remembered,
): Claims | undefined {
  return session?.sub === subject && session.clientId === clientId ? session.claims : undefined;
}

/** Returns the former object while the claims are equal, because callers cache values by this object. */
function keepSame(before: Claims | undefined, claims: Claims): Claims {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(claims) ? before : claims;
}

async function getSession(storage: AuthStorage, key: string): ReturnType<AuthStorage['getSession']> {
  try {
    return await storage.getSession(key);
  } catch (cause) {
    if (!(cause instanceof StorageUnavailable)) throw cause;
    const answer = {
      status: 503,
      code: 'storage_unavailable',
      text: 'Whether the login goes on cannot be found out at the moment',
      headers: { 'Retry-After': '5' },
    };
    throw new RequestError(answer, { cause });
  }
}
