import { BoundedMap } from '#runtime/bounded-map';
import { RequestError } from '#runtime/errors';
import type { KeptClaim } from '#runtime/incoming/identity';
import type { SessionCheck } from './auth-server.ts';
import { StorageUnavailable, type AuthStorage } from './storage/storage.ts';

/** The check of boundary 1, and what ends what it remembers. */
export interface LiveSessionCheck extends SessionCheck {
  /** The session was ended or changed by this process: nothing that is remembered of it holds. */
  forget(key: string): void;
  /** The same for all sessions of a user. */
  forgetUser(sub: string): void;
}

type Claims = Readonly<Record<string, KeptClaim>>;

interface Remembered {
  /** Undefined: there is no such session. */
  readonly session: { readonly sub: string; readonly clientId: string; readonly claims: Claims } | undefined;
  /** When it was asked for, in milliseconds since the epoch. */
  readonly at: number;
}

/** How long the end of a session at another replica may stay unknown here. */
const REMEMBERED_FOR = 5_000;
const MAX_REMEMBERED = 10_000;

/** Answers at once from what is remembered, at most 5 s old; many that ask at once make one look into the storage. */
export function createSessionCheck(storage: AuthStorage, now: () => number): LiveSessionCheck {
  const remembered = new BoundedMap<string, Remembered>(MAX_REMEMBERED);
  const underWay = new Map<string, Promise<Remembered>>();

  async function look(tsid: string): Promise<Remembered> {
    // What was asked before an end must not be remembered after it.
    const at = now();
    const found = await getSession(storage, tsid);
    const before = remembered.get(tsid)?.session;
    const claims = found && keepSame(before?.claims, found.user.claims);
    return { session: found && claims && { sub: found.sub, clientId: found.client_id, claims }, at };
  }

  function lookOnce(tsid: string): Promise<Remembered> {
    const started = underWay.get(tsid);
    if (started) return started;
    const looking: Promise<Remembered> = look(tsid)
      .then((fresh) => {
        if (underWay.get(tsid) === looking) remembered.set(tsid, fresh);
        return fresh;
      })
      .finally(() => {
        if (underWay.get(tsid) === looking) underWay.delete(tsid);
      });
    underWay.set(tsid, looking);
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
      underWay.delete(key);
    },
    forgetUser(sub) {
      for (const [key, { session }] of remembered) if (session?.sub === sub) remembered.delete(key);
      // Whose they are is not known yet.
      underWay.clear();
    },
  };
}

/** A session belongs to one user and one client: a token that says otherwise is none of its. */
function claimsFor(
  { subject, clientId }: Parameters<SessionCheck['claimsOf']>[0],
  { session }: Remembered,
): Claims | undefined {
  return session?.sub === subject && session.clientId === clientId ? session.claims : undefined;
}

/** The same object while the claims are the same: what others have made of it goes on to hold. */
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
