import { randomBytes } from 'node:crypto';
import type { Identity } from '#runtime/incoming/identity';
import { evictionReason, pickIdlest } from './evict-session.ts';
import type { SessionLimits } from './session-limits.ts';
import type { CallNews } from './call-news.ts';
import type { SessionEnds } from './end-legs.ts';
import type { SessionField } from './session-record.ts';
import type { SessionTable } from './record-writer.ts';
import { newSession, type ClientProfile, type Leg, type Session, type SessionOwner } from './session.ts';
import type { SharedSessions } from './shared-sessions.ts';

const SWEEP_EVERY = 5_000;

/**
 * The sessions of this replica, bounded by idleness, by principal, and in all. Where they are shared with other replicas, these are
 * the ones that it knows; then the bound of a principal holds for all replicas, and the bound of this replica forgets sessions.
 */
export class SessionStore implements SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #counts = new Map<string, number>();
  readonly #profiles = new Map<string, { profile: ClientProfile; uses: number }>();
  readonly #now: () => number;
  readonly #ends: SessionEnds;
  #shared: SharedSessions | undefined;
  #limits: SessionLimits;
  /** Warnings for the operator about where sessions are kept. */
  warning: string | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(limits: SessionLimits, now: () => number, ends: SessionEnds) {
    this.#limits = limits;
    this.#now = now;
    this.#ends = ends;
    this.#timer = setInterval(() => this.sweep(), SWEEP_EVERY).unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  get limits(): SessionLimits {
    return this.#limits;
  }

  set limits(limits: SessionLimits) {
    this.#limits = limits;
  }

  /** Sessions known here that are counted for this caller, see `countedFor`. */
  countOf(countedFor: string): number {
    return this.#counts.get(countedFor) ?? 0;
  }

  /** With whom sessions are shared from now on; undefined: with nobody. */
  set shared(shared: SharedSessions | undefined) {
    this.#shared = shared;
  }

  /** Whether requests of a session that is known here may be under way elsewhere. */
  get isShared(): boolean {
    return this.#shared?.isOwn === false;
  }

  get warnings(): readonly string[] {
    return this.warning === undefined ? (this.#shared?.warnings ?? []) : [this.warning];
  }

  /**
   * A new session; where the principal or the replica has its full number, the one idle for longest is evicted.
   * @throws RequestError where none can be evicted; 503 where it could not be shared
   */
  create(owner: SessionOwner, profile: ClientProfile): Session {
    this.#shared?.checkReady();
    if (!this.#shared && this.countOf(owner.countedFor) >= this.#limits.perPrincipal) this.#evict(owner.countedFor);
    return this.adopt(randomBytes(24).toString('base64url'), owner, profile, this.#now());
  }

  /** The new session may be named to its client, once this has settled. @throws RequestError 503 */
  opened(session: Session, identity: Identity): Promise<void> | undefined {
    return this.#shared?.opened(session, identity);
  }

  /**
   * A session that is not known here, with its own id. `openedAt`: milliseconds of the monotonic clock.
   * @throws RequestError where this replica has its full number, and none can be evicted
   */
  adopt(id: string, owner: SessionOwner, profile: ClientProfile, openedAt: number): Session {
    if (this.#sessions.size >= this.#limits.perReplica) this.#evict(undefined);
    const { principal, countedFor } = owner;
    const lastUsed = this.#now();
    const session = newSession({ id, principal, countedFor, profile: this.#share(profile), openedAt, lastUsed });
    this.#sessions.set(session.id, session);
    this.#counts.set(countedFor, (this.#counts.get(countedFor) ?? 0) + 1);
    return session;
  }

  /** The session, whoever asks. */
  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /**
   * The session, if it is this principal's. A stranger learns nothing and the owner is not disturbed. `isUse`: for a message, and
   * not for a stream that a client opens again and again.
   * @throws RequestError 503 where nobody can tell
   */
  find(id: string, principal: string, isUse = true): Session | undefined | Promise<Session | undefined> {
    const session = this.#sessions.get(id);
    if (session !== undefined && session.principal !== principal) return undefined;
    if (session !== undefined && isUse) session.lastUsed = this.#now();
    if (this.#shared === undefined || (session !== undefined && this.#shared.trusts(session))) return session;
    return this.#shared.find(id, principal);
  }

  /** What the other replicas have to know of the session. */
  remember(session: Session, field: SessionField): Promise<void> | undefined {
    return this.#shared?.remember(session, field);
  }

  /** A leg that was opened here. @returns the one that counts: another replica may have been quicker */
  keepLeg(session: Session, leg: Leg): Leg | Promise<Leg> {
    return this.#shared?.keepLeg(session, leg) ?? leg;
  }

  /** A request of the client goes to a backend where its state ends with this process. */
  noteState(session: Session, backend: string): void {
    if (session.stateAt?.has(backend)) return;
    (session.stateAt ??= new Set()).add(backend);
    void this.#shared?.noteState(session, backend);
  }

  /** Whether the session's state at this backend was lost; said once. */
  takeLoss(session: Session, backend: string): boolean {
    if (session.lostAt?.delete(backend) !== true) return false;
    session.stateAt?.delete(backend);
    void this.#shared?.noteLossTold(session, backend);
    return true;
  }

  /** The client opened its stream here: another replica's is closed. */
  tellStream(session: Session): void {
    this.#shared?.tellStream(session);
  }

  /** What happened to a call that may be under way at another replica. */
  tellOfCall(session: Session, news: CallNews): void {
    this.#shared?.tellOfCall(session, news);
  }

  /** Something happened in the session. */
  touch(session: Session): void {
    session.lastUsed = this.#now();
  }

  /** Ends it, for all replicas; its legs are for the caller to end. @throws RequestError 503, and then it goes on */
  async end(session: Session): Promise<void> {
    await this.#shared?.end(session);
    this.forget(session);
  }

  /** It is known here no longer. */
  forget(session: Session): void {
    this.#remove(session, this.#ends.forgotten);
  }

  *all(): Iterable<Session> {
    yield* this.#sessions.values();
  }

  /** Ends what has been idle for too long. A session with an open stream or a call under way is not idle. */
  sweep(): void {
    const now = this.#now();
    const oldest = now - this.#limits.idle;
    for (const session of this.#sessions.values()) {
      if (isBusy(session)) session.lastBusy = now;
      else if (Math.max(session.lastUsed, session.lastBusy) < oldest) this.#drop(session);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    for (const session of [...this.#sessions.values()]) this.#drop(session);
  }

  /** Of a shared session others decide whether it is over. */
  #drop(session: Session): void {
    this.#remove(session, this.#shared ? this.#ends.forgotten : this.#ends.ended);
  }

  #remove(session: Session, tell: (session: Session) => void): void {
    if (!this.#sessions.delete(session.id)) return;
    session.isOver = true;
    const left = (this.#counts.get(session.countedFor) ?? 1) - 1;
    if (left > 0) this.#counts.set(session.countedFor, left);
    else this.#counts.delete(session.countedFor);
    this.#release(session.profile);
    this.#shared?.forget(session);
    tell(session);
  }

  *#all(countedFor: string | undefined): Iterable<Session> {
    for (const session of this.#sessions.values())
      if (countedFor === undefined || session.countedFor === countedFor) yield session;
  }

  /** Of all sessions, or of those that are counted for the same. @throws RequestError where none can be evicted */
  #evict(countedFor: string | undefined): void {
    const { evictableAfter } = this.#limits;
    const now = this.#now();
    // A shared session that is forgotten is read again when it is used, so its age does not matter.
    const idlest = pickIdlest(this.#all(countedFor), { now, evictableAfter: this.#shared ? 0 : evictableAfter });
    if (!this.#shared) {
      const { principal, logId: session, profile, lastUsed } = idlest;
      const { revision, clientName, clientVersion } = profile;
      const reason = countedFor === undefined ? 'replica' : evictionReason(this.#limits);
      const idle = now - lastUsed;
      this.#ends.evicted({ reason, principal, session, revision, clientName, clientVersion, idle });
    }
    this.#drop(idlest);
  }

  #share(profile: ClientProfile): ClientProfile {
    const key = `${profile.revision} ${profile.paramsText}`;
    const known = this.#profiles.get(key);
    if (known) {
      known.uses++;
      return known.profile;
    }
    this.#profiles.set(key, { profile, uses: 1 });
    return profile;
  }

  #release(profile: ClientProfile): void {
    const key = `${profile.revision} ${profile.paramsText}`;
    const known = this.#profiles.get(key);
    if (known && --known.uses === 0) this.#profiles.delete(key);
  }
}

function isBusy(session: Session): boolean {
  return session.stream !== undefined || session.calls > 0;
}
