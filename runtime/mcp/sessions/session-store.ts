import { randomBytes } from 'node:crypto';
import type { Identity } from '#runtime/incoming/identity';
import { evictionReason, pickIdlest } from './evict-session.ts';
import type { SessionLimits } from './session-limits.ts';
import type { CallEvent } from './call-event.ts';
import type { SessionEnds } from './end-backend-sessions.ts';
import type { SessionField } from './session-record.ts';
import type { SessionTable } from './record-writer.ts';
import { newSession, type ClientProfile, type BackendSession, type Session, type SessionOwner } from './session.ts';
import type { SharedSessions } from './shared-sessions.ts';

const SWEEP_EVERY = 5_000;

/**
 * The sessions of this replica, limited by idle time, per principal and in total. Shared sessions are those that this replica knows:
 * the limit of a principal then holds across replicas, and a full replica forgets sessions instead of ending them.
 */
export class SessionStore implements SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #counts = new Map<string, number>();
  readonly #profiles = new Map<string, { profile: ClientProfile; uses: number }>();
  readonly #now: () => number;
  readonly #ends: SessionEnds;
  #shared: SharedSessions | undefined;
  #limits: SessionLimits;
  /** Warning for the operator about the storage of sessions. */
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

  /** Returns the number of sessions known here that count for this caller, see `countedFor`. */
  countOf(countedFor: string): number {
    return this.#counts.get(countedFor) ?? 0;
  }

  /** The sharing with other replicas; undefined: sessions are not shared. */
  set shared(shared: SharedSessions | undefined) {
    this.#shared = shared;
  }

  /** Whether other replicas may serve requests of a session that is known here. */
  get isShared(): boolean {
    return this.#shared?.isOwn === false;
  }

  get warnings(): readonly string[] {
    return this.warning === undefined ? (this.#shared?.warnings ?? []) : [this.warning];
  }

  /**
   * Creates a session. If the quota of the principal or the replica is exhausted, evicts the session that was idle for longest.
   * @throws RequestError if no session can be evicted; 503 if it could not be shared
   */
  create(owner: SessionOwner, profile: ClientProfile): Session {
    this.#shared?.checkReady();
    if (!this.#shared && this.countOf(owner.countedFor) >= this.#limits.perPrincipal) this.#evict(owner.countedFor);
    return this.adopt(randomBytes(24).toString('base64url'), owner, profile, this.#now());
  }

  /** Shares a new session. Only after this settles may the client receive its id. @throws RequestError 503 */
  opened(session: Session, identity: Identity): Promise<void> | undefined {
    return this.#shared?.opened(session, identity);
  }

  /**
   * Adds a session of another replica under its id. `openedAt`: milliseconds of the monotonic clock.
   * @throws RequestError if the quota of this replica is exhausted and no session can be evicted
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

  /** Returns the session without a check of its principal. */
  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /**
   * Returns the session if it belongs to this principal. Requests of other principals do not count as use. `isUse`: true for a message,
   * false for a stream, which clients reopen again and again.
   * @throws RequestError 503 if the store cannot answer
   */
  find(id: string, principal: string, isUse = true): Session | undefined | Promise<Session | undefined> {
    const session = this.#sessions.get(id);
    if (session !== undefined && session.principal !== principal) return undefined;
    if (session !== undefined && isUse) session.lastUsed = this.#now();
    if (this.#shared === undefined || (session !== undefined && this.#shared.trusts(session))) return session;
    return this.#shared.find(id, principal);
  }

  /** Stores a field of the session for the other replicas. */
  remember(session: Session, field: SessionField): Promise<void> | undefined {
    return this.#shared?.remember(session, field);
  }

  /** Stores a backend session that this replica opened. @returns the one to use: another replica may have been first */
  keepBackendSession(session: Session, backendSession: BackendSession): BackendSession | Promise<BackendSession> {
    return this.#shared?.keepBackendSession(session, backendSession) ?? backendSession;
  }

  /** Records that a request went to a backend whose state ends with this process. */
  noteState(session: Session, backend: string): void {
    if (session.stateAt?.has(backend)) return;
    (session.stateAt ??= new Set()).add(backend);
    void this.#shared?.noteState(session, backend);
  }

  /** Returns whether the session's state at this backend was lost. Returns true once only. */
  takeLoss(session: Session, backend: string): boolean {
    if (session.lostAt?.delete(backend) !== true) return false;
    session.stateAt?.delete(backend);
    void this.#shared?.noteLossTold(session, backend);
    return true;
  }

  /** Tells the other replicas that the client opened its stream here, so that they close theirs. */
  tellStream(session: Session): void {
    this.#shared?.tellStream(session);
  }

  /** Tells the other replicas about a call that one of them may serve. */
  tellOfCall(session: Session, event: CallEvent): void {
    this.#shared?.tellOfCall(session, event);
  }

  /** Counts an event in the session as use. */
  touch(session: Session): void {
    session.lastUsed = this.#now();
  }

  /** Ends a session for all replicas. The caller ends its backend sessions. @throws RequestError 503; the session then stays open */
  async end(session: Session): Promise<void> {
    await this.#shared?.end(session);
    this.forget(session);
  }

  /** Removes a session from this replica only. */
  forget(session: Session): void {
    this.#remove(session, this.#ends.forgotten);
  }

  *all(): Iterable<Session> {
    yield* this.#sessions.values();
  }

  /** Ends sessions that exceed the idle limit. A session with an open stream or a call in flight is not idle. */
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

  /** Removes a session. The store decides whether a shared session is over. */
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

  /** Evicts one of all sessions, or of those with this `countedFor`. @throws RequestError if no session can be evicted */
  #evict(countedFor: string | undefined): void {
    const { evictableAfter } = this.#limits;
    const now = this.#now();
    // This replica reads a forgotten shared session again at its next use, so its age does not matter.
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
