import type { LinkRow, LiveSession, SessionRow } from './rows.ts';
import type { Finished, FinishedLogin, Rotation } from './storage.ts';

// What memory and SQLite do within one step of this process. The scripts of Redis follow the same rules (`redis/`).

type Generation = 'next' | 'same' | 'unknown' | 'login_needed' | 'replayed';

/** What a refresh token of generation `rotation.gen` asks of the session that is stored; `stored`: the user's links. */
export function judgeGeneration(
  session: LiveSession,
  rotation: Rotation,
  now: number,
  stored: (provider: string) => LinkRow | undefined,
): Generation {
  if (session.client_id !== rotation.clientId) return 'unknown';
  // Ahead of what is stored: the write was lost in a failover, and its holder goes on from there.
  const isNext = rotation.gen >= session.gen;
  const inGrace = rotation.gen === session.gen - 1 && now - session.rotated_at <= rotation.grace;
  if (!isNext && !inGrace) return 'replayed';
  const { required = [] } = rotation;
  if (!required.every((provider) => stored(provider)?.state === 'linked')) return 'login_needed';
  return isNext ? 'next' : 'same';
}

/** The session after a refresh; `rotation.gen` is what the token that came said. */
export function nextSession(session: LiveSession, { gen, kid }: Rotation, now: number): LiveSession {
  return { ...session, gen: gen + 1, kid, rotated_at: now };
}

/** Its refresh token has generation 0. */
export function newSession(row: SessionRow, now: number): LiveSession {
  return { ...row, gen: 0, rotated_at: now };
}

/** It slides with use, and ends at `ends_at` whatever happens. */
export function sessionEnd(session: SessionRow, lifespan: number, now: number): number {
  return Math.min(now + lifespan, session.ends_at);
}

/** Why a login cannot end so; undefined: it can. */
export function refusalOf(
  stored: (provider: string) => LinkRow | undefined,
  { links, expects = {} }: Pick<FinishedLogin, 'links' | 'expects'>,
): Finished | undefined {
  const isThere = ([provider, linkedAt]: [string, number]) => stored(provider)?.linked_at === linkedAt;
  if (!Object.entries(expects).every(isThere)) return { outcome: 'changed' };
  const provider = conflictOf(stored, links);
  return provider === undefined ? undefined : { outcome: 'conflict', provider };
}

/** The provider where another account is linked; one that does not say who logs in now may be another, too. */
function conflictOf(
  stored: (provider: string) => LinkRow | undefined,
  links: FinishedLogin['links'],
): string | undefined {
  return Object.entries(links).find(([provider, link]) => {
    const account = stored(provider)?.account;
    return account !== undefined && account.subject !== link.account?.subject;
  })?.[0];
}

/** Which secret sealed this. */
export function secretOf(sealed: string): string {
  return sealed.slice(0, Math.max(0, sealed.indexOf('.')));
}

/** Counts by name, in place. */
export function countUp(counts: Record<string, number>, name: string, by = 1): void {
  counts[name] = (counts[name] ?? 0) + by;
}
