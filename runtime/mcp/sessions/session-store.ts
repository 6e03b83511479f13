import { randomBytes } from 'node:crypto';
import type { ClientProfile, Session } from './session.ts';

export interface SessionLimits {
  /** Milliseconds without use after which a session ends. */
  readonly idle: number;
  readonly perPrincipal: number;
  readonly perReplica: number;
}

const SWEEP_EVERY = 5_000;

/** The sessions of this replica, bounded by idleness, by principal, and in all. */
export class SessionStore {
  readonly #sessions = new Map<string, Session>();
  readonly #counts = new Map<string, number>();
  readonly #profiles = new Map<string, { profile: ClientProfile; uses: number }>();
  readonly #now: () => number;
  readonly #ended: (session: Session) => void;
  #limits: SessionLimits;
  readonly #timer: NodeJS.Timeout;

  /** `ended` is told of each session that is removed, so that its legs and stream are closed. */
  constructor(limits: SessionLimits, now: () => number, ended: (session: Session) => void) {
    this.#limits = limits;
    this.#now = now;
    this.#ended = ended;
    this.#timer = setInterval(() => this.sweep(), SWEEP_EVERY).unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  set limits(limits: SessionLimits) {
    this.#limits = limits;
  }

  /** A new session; where the principal or the replica has its full number, the one idle for longest makes room. */
  create(principal: string, profile: ClientProfile): Session {
    if ((this.#counts.get(principal) ?? 0) >= this.#limits.perPrincipal) this.#evict(principal);
    if (this.#sessions.size >= this.#limits.perReplica) this.#evict(undefined);
    const session: Session = {
      id: randomBytes(24).toString('base64url'),
      principal,
      profile: this.#share(profile),
      legs: [],
      openedAt: this.#now(),
      lastUsed: this.#now(),
      initialized: false,
      logLevel: undefined,
      subscriptions: undefined,
      inFlight: undefined,
      opening: undefined,
      stream: undefined,
      catalogue: undefined,
      changed: undefined,
      calls: 0,
      isOver: false,
    };
    this.#sessions.set(session.id, session);
    this.#counts.set(principal, (this.#counts.get(principal) ?? 0) + 1);
    return session;
  }

  /** The session, if it is this principal's. A stranger learns nothing and the owner is not disturbed. */
  find(id: string, principal: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.principal !== principal) return undefined;
    session.lastUsed = this.#now();
    return session;
  }

  /** Something happened in the session. */
  touch(session: Session): void {
    session.lastUsed = this.#now();
  }

  delete(session: Session): void {
    if (!this.#sessions.delete(session.id)) return;
    session.isOver = true;
    const left = (this.#counts.get(session.principal) ?? 1) - 1;
    if (left > 0) this.#counts.set(session.principal, left);
    else this.#counts.delete(session.principal);
    this.#release(session.profile);
    this.#ended(session);
  }

  *all(): Iterable<Session> {
    yield* this.#sessions.values();
  }

  /** Ends what has been idle for too long. A session with an open stream or a call under way is not idle. */
  sweep(): void {
    const oldest = this.#now() - this.#limits.idle;
    for (const session of this.#sessions.values()) {
      if (session.lastUsed < oldest && !isBusy(session)) this.delete(session);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    for (const session of [...this.#sessions.values()]) this.delete(session);
  }

  #evict(principal: string | undefined): void {
    let victim: Session | undefined;
    for (const session of this.#sessions.values()) {
      if (principal !== undefined && session.principal !== principal) continue;
      if (victim === undefined || isIdler(session, victim)) victim = session;
    }
    if (victim) this.delete(victim);
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

function isIdler(a: Session, b: Session): boolean {
  if (isBusy(a) !== isBusy(b)) return isBusy(b);
  return a.lastUsed < b.lastUsed;
}
