import type { LinkRow, ActiveSession, RevocationRow, SessionRow } from './rows.ts';
import type { Finished, FinishedLogin, RedeemedAssertion, Rotation } from './storage.ts';

// Rules of the memory and SQLite storages, which apply them in one step. The scripts in `redis/` follow the same rules.

type Generation = 'next' | 'same' | 'unknown' | 'login_needed' | 'replayed';

/** Judges a refresh token of generation `rotation.gen` against the stored session. `stored` returns the user's links. */
export function judgeGeneration(
  session: ActiveSession,
  rotation: Rotation,
  now: number,
  stored: (provider: string) => LinkRow | undefined,
): Generation {
  if (session.client_id !== rotation.clientId) return 'unknown';
  // A token ahead of the stored generation means that a failover lost the write. The session continues from the token.
  const isNext = rotation.gen >= session.gen;
  const inGrace = rotation.gen === session.gen - 1 && now - session.rotated_at <= rotation.grace;
  if (!isNext && !inGrace) return 'replayed';
  const { required = [] } = rotation;
  if (!required.every((provider) => stored(provider)?.state === 'linked')) return 'login_needed';
  return isNext ? 'next' : 'same';
}

/** Returns the session after a refresh. `rotation.gen` is the generation of the presented token. */
export function nextSession(session: ActiveSession, { gen, kid }: Rotation, now: number): ActiveSession {
  return { ...session, gen: gen + 1, kid, rotated_at: now };
}

/** Returns a new session. Its refresh token has generation 0. */
export function newSession(row: SessionRow, now: number): ActiveSession {
  return { ...row, gen: 0, rotated_at: now };
}

/** Returns the end of a session. Each use extends it, at most until `ends_at`. */
export function sessionEnd(session: SessionRow, lifespan: number, now: number): number {
  return Math.min(now + lifespan, session.ends_at);
}

/** Returns whether the assertion was issued before the revocation, or at the same time. */
export function isRevoked({ issuedAt }: Pick<RedeemedAssertion, 'issuedAt'>, row: RevocationRow | undefined): boolean {
  return row !== undefined && issuedAt <= row.not_before;
}

export function refusalOf(
  stored: (provider: string) => LinkRow | undefined,
  { links, expects = {} }: Pick<FinishedLogin, 'links' | 'expects'>,
): Finished | undefined {
  const isThere = ([provider, linkedAt]: [string, number]) => stored(provider)?.linked_at === linkedAt;
  if (!Object.entries(expects).every(isThere)) return { outcome: 'changed' };
  const provider = conflictOf(stored, links);
  return provider === undefined ? undefined : { outcome: 'conflict', provider };
}

/** Returns a provider where another account is linked. A login without an account counts as another one. */
function conflictOf(
  stored: (provider: string) => LinkRow | undefined,
  links: FinishedLogin['links'],
): string | undefined {
  return Object.entries(links).find(([provider, link]) => {
    const account = stored(provider)?.account;
    return account !== undefined && account.subject !== link.account?.subject;
  })?.[0];
}

/** Returns the `kid` of the secret that sealed the text. */
export function secretOf(sealed: string): string {
  return sealed.slice(0, Math.max(0, sealed.indexOf('.')));
}

export function countUp(counts: Record<string, number>, name: string, by = 1): void {
  counts[name] = (counts[name] ?? 0) + by;
}
