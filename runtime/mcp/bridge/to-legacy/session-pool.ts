import type { BackendCall, BridgeLoad } from '#runtime/mcp/backends/backend';
import { Quota, QuotaExceeded } from '#lib/limits/quota';
import { Semaphore } from '#lib/limits/semaphore';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import { callFailure } from '#runtime/mcp/backends/failures';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Identity } from '#runtime/incoming/identity';
import type { BridgeDeps } from './bridge-deps.ts';
import { BridgedSession } from './bridged-session.ts';
import { takesInput } from '../../input-methods.ts';
import { clientProfile } from './client-profile.ts';
import type { TaskSession } from './modern-task.ts';
import { TaskInput } from './task-input.ts';

/** Sessions of one principal and profile. */
const MOST_LEASED = 16;
/** A principal with ever new client infos would otherwise end the sessions of all others. */
const MOST_OF_PRINCIPAL = 64;
/** Tasks whose streams for input are open. */
const MOST_INPUTS = { total: 1_000, perKey: 100 };
/** Milliseconds. */
const LONGEST_IDLE = 300_000;
const SWEEP_EVERY = 10_000;
const LONGEST_INPUT = 3_600_000;

interface PooledSession {
  /** Undefined: one caller uses it, once. */
  readonly key: string | undefined;
  readonly session: BridgedSession;
  readonly opening: Promise<BridgedSession>;
}

/** Such requests leave no state in a session that a tool could show. */
function isStateless(method: string): boolean {
  return method.endsWith('/list') || method === 'subscriptions/listen';
}

/** Returns whether a session ends before another one if there are too many. */
function isBefore(one: BridgedSession, other: BridgedSession): boolean {
  return one.isKept === other.isKept ? one.lastUsed < other.lastUsed : other.isKept;
}

/** Sessions at one legacy backend: one for each principal and client profile, and one for each anonymous call. */
export class SessionPool {
  readonly #deps: BridgeDeps;
  readonly #byKey = new Map<string, PooledSession>();
  readonly #all = new Map<BridgedSession, PooledSession>();
  /** Running calls whose clients may be asked for input. Their connections are not limited, as input takes long. */
  readonly places: Semaphore;
  /** One process serves all clients. It asks none of them, and keeps no state for one alone. */
  readonly #isShared: boolean;
  readonly #inputs = new Quota(MOST_INPUTS);
  #asksBesideCalls: boolean;
  #timer: NodeJS.Timeout | undefined;
  #isRetired = false;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    const { places: limits, config } = deps.backend;
    this.places = new Semaphore({ total: limits.perBackend, queue: limits.queue });
    this.#isShared = config.transport === 'stdio' && config.stdio_process === 'shared';
    // The messages of a process or an event stream name no call.
    this.#asksBesideCalls = config.transport !== 'streamable-http' && !this.#isShared;
  }

  /** Returns a promise while the session opens. Call `leave` once. @throws NoAnswer */
  take(call: BackendCall, hears: boolean): BridgedSession | Promise<BridgedSession> {
    const key = this.#keyOf(call);
    const pooled = key === undefined ? this.#open(undefined, call, hears) : this.#find(key, call);
    if (!pooled) return Promise.reject(this.#busy());
    const { session, opening } = pooled;
    if (takesInput(call.method)) session.leases += 1;
    session.uses += 1;
    session.identity = call.identity;
    return session.isOpen ? session : opening;
  }

  /** Returns the session of a task. Another process may have opened it. Call `leave` once. @throws NoAnswer */
  resume(task: TaskSession, call: BackendCall): BridgedSession | Promise<BridgedSession> {
    // Without an id, all sessions of a client are the same to the backend.
    if (task.sessionId === undefined) return this.take(call, false);
    let session: BridgedSession | undefined;
    for (const one of this.#all.keys()) if (one.isOpen && one.target.sessionId === task.sessionId) session = one;
    session ??= this.#adopt(task, call);
    session.uses += 1;
    session.identity = call.identity;
    return session;
  }

  /** Opens the stream for the input of a task. @throws NoAnswer if there are too many */
  hold(session: BridgedSession, taskId: string, maximum = LONGEST_INPUT): TaskInput {
    const leave = this.#takeInput(session.identity);
    const { backend } = this.#deps;
    session.uses += 1;
    const ended = () => {
      leave();
      session.tasks.inputs.delete(taskId);
      this.leave(session, false);
    };
    const input = new TaskInput({ backend, session, taskId, maximum, ended });
    session.tasks.inputs.set(taskId, input);
    return input;
  }

  #takeInput({ key }: Identity): () => void {
    try {
      return this.#inputs.take(key);
    } catch (error) {
      throw error instanceof QuotaExceeded ? this.#busy() : error;
    }
  }

  #adopt(task: TaskSession, call: BackendCall): BridgedSession {
    if (!this.#makeSpace(call.identity)) throw this.#busy();
    const session = this.#create(call);
    session.adopt(task);
    this.#add({ key: undefined, session, opening: Promise.resolve(session) });
    return session;
  }

  get load(): BridgeLoad {
    let parked = 0;
    for (const { calls } of this.#all.keys()) for (const call of calls.all()) if (!call.isRunning) parked += 1;
    return { sessions: this.#all.size, parked };
  }

  /**
   * A backend that asks on its own stream does not say for which call, so each call that may be asked has a session
   * alone. The first session is preferred, as state is kept there. Undefined: there are too many.
   */
  #find(key: string, call: BackendCall): PooledSession | undefined {
    const first = this.#byKey.get(key) ?? this.#open(key, call, true);
    if (!this.#asksBesideCalls || !takesInput(call.method) || !first.session.profile.isAskable) return first;
    let pooled = first;
    for (let slot = 2; pooled.session.leases > 0 && slot <= MOST_LEASED; slot += 1) {
      const other = `${key}\n${slot}`;
      pooled = this.#byKey.get(other) ?? this.#open(other, call, true);
    }
    return pooled.session.leases > 0 ? undefined : pooled;
  }

  #busy(): NoAnswer {
    return new NoAnswer(callFailure(this.#deps.backend.name, 'busy', false));
  }

  /** `isLease`: the call takes input. */
  leave(session: BridgedSession, isLease: boolean): void {
    if (isLease) session.leases -= 1;
    session.uses -= 1;
    session.lastUsed = this.#deps.now();
    const pooled = this.#all.get(session);
    if (session.uses > 0) return;
    const isUnpooled = pooled?.key === undefined && !session.isKept;
    if (isUnpooled || this.#isRetired) void this.#end(session);
    else if (pooled?.key === undefined) session.rest();
  }

  /** The backend does not know the session any more. Its running calls continue. */
  forget(session: BridgedSession): void {
    const pooled = this.#all.get(session);
    if (pooled?.key !== undefined && this.#byKey.get(pooled.key) === pooled) this.#byKey.delete(pooled.key);
    this.#all.delete(session);
    session.endListeners();
    if (session.uses === 0) void session.close();
  }

  /** Ends unused sessions now, and the others after their last call. */
  retire(): void {
    this.#isRetired = true;
    for (const session of [...this.#all.keys()]) {
      session.endListeners();
      if (session.uses === 0) void this.#end(session);
    }
  }

  /** Settles when the backend knows that all sessions are over. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#all.keys()].map((session) => this.#end(session)));
  }

  #keyOf({ identity, caller, method }: BackendCall): string | undefined {
    // Anonymous callers have one identity, so a shared session would show the state of one to another. Lists and subscriptions leave none.
    if (identity.key === ANONYMOUS.key && !this.#isShared && !isStateless(method)) return undefined;
    return `${this.#isShared ? '' : identity.key}\n${caller?.capabilities ?? ''}\n${caller?.clientInfo ?? ''}`;
  }

  #open(key: string | undefined, call: BackendCall, hears: boolean): PooledSession {
    const session = this.#create(call);
    const opening = this.#makeSpace(call.identity)
      ? session.open(hears || key !== undefined || session.profile.isAskable).then(() => session)
      : Promise.reject(this.#busy());
    const pooled = { key, session, opening };
    opening.catch(() => this.forget(session));
    this.#add(pooled);
    if (key !== undefined) this.#byKey.set(key, pooled);
    return pooled;
  }

  #add(pooled: PooledSession): void {
    this.#all.set(pooled.session, pooled);
    this.#timer ??= setInterval(() => this.#endIdle(), SWEEP_EVERY).unref();
  }

  #create({ identity, caller }: BackendCall): BridgedSession {
    const profile = clientProfile(caller, this.#deps.version);
    const session = new BridgedSession(identity, profile, this.#deps, {
      onLost: () => this.forget(session),
      onAsked: () => {
        this.#asksBesideCalls = true;
      },
    });
    return session;
  }

  /** Ends the session that was idle longest if there are too many, of the principal or of all. */
  #makeSpace({ key }: Identity): boolean {
    const own = [...this.#all.keys()].filter(({ identity }) => identity.key === key);
    const isOwn = key !== ANONYMOUS.key && own.length >= MOST_OF_PRINCIPAL;
    if (!isOwn && this.#all.size < this.#deps.maxSessions) return true;
    let oldest: BridgedSession | undefined;
    for (const session of isOwn ? own : this.#all.keys())
      if (session.uses === 0 && (!oldest || isBefore(session, oldest))) oldest = session;
    if (oldest) void this.#end(oldest);
    return oldest !== undefined;
  }

  #endIdle(): void {
    const before = this.#deps.now() - Math.min(LONGEST_IDLE, this.#deps.sessionIdle);
    for (const { key, session } of [...this.#all.values()]) {
      const isIdle = session.uses === 0 && (key === undefined || session.lastUsed < before);
      if (isIdle && !session.isKept) void this.#end(session);
    }
    if (this.#all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #end(session: BridgedSession): Promise<void> {
    const closed = session.close();
    this.forget(session);
    return closed;
  }
}
