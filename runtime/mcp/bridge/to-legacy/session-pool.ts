import type { BackendCall } from '#runtime/mcp/backends/backend';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import { callFailure } from '#runtime/mcp/backends/failures';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { BridgeDeps } from './bridge-deps.ts';
import { BridgedSession } from './bridged-session.ts';
import { clientProfile } from './client-profile.ts';

/** Milliseconds. */
const IDLE = 300_000;
const SWEEP_EVERY = 10_000;

interface PooledSession {
  /** Undefined: one caller uses it, once. */
  readonly key: string | undefined;
  readonly session: BridgedSession;
  readonly opening: Promise<BridgedSession>;
}

/** Sessions at one legacy backend: one for each principal and client profile, and one for each anonymous call. */
export class SessionPool {
  readonly #deps: BridgeDeps;
  readonly #byKey = new Map<string, PooledSession>();
  readonly #all = new Map<BridgedSession, PooledSession>();
  #timer: NodeJS.Timeout | undefined;
  #isRetired = false;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
  }

  /** Returns a promise while the session opens. Call `leave` once. @throws NoAnswer */
  take(call: BackendCall, hears: boolean): BridgedSession | Promise<BridgedSession> {
    const key = this.#keyOf(call);
    const pooled = (key === undefined ? undefined : this.#byKey.get(key)) ?? this.#open(key, call, hears);
    const { session, opening } = pooled;
    session.uses += 1;
    session.identity = call.identity;
    return session.isOpen ? session : opening;
  }

  leave(session: BridgedSession): void {
    session.uses -= 1;
    session.lastUsed = this.#deps.now();
    const pooled = this.#all.get(session);
    if (session.uses > 0) return;
    if (pooled?.key === undefined || this.#isRetired) this.#end(session);
  }

  /** The backend does not know the session any more. Its running calls continue. */
  forget(session: BridgedSession): void {
    const pooled = this.#all.get(session);
    if (pooled?.key !== undefined && this.#byKey.get(pooled.key) === pooled) this.#byKey.delete(pooled.key);
    this.#all.delete(session);
    if (session.uses === 0) session.close();
  }

  /** Ends unused sessions now, and the others after their last call. */
  retire(): void {
    this.#isRetired = true;
    for (const session of [...this.#all.keys()]) if (session.uses === 0) this.#end(session);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const session of [...this.#all.keys()]) this.#end(session);
  }

  #keyOf({ identity, caller, method }: BackendCall): string | undefined {
    const { config } = this.#deps.backend;
    const isShared = config.transport === 'stdio' && config.stdio_process === 'shared';
    // Nobody could tell the state of one anonymous caller from that of another. Lists leave no state.
    if (identity.key === ANONYMOUS.key && !isShared && !method.endsWith('/list')) return undefined;
    return `${isShared ? '' : identity.key}\n${caller?.capabilities ?? ''}\n${caller?.clientInfo ?? ''}`;
  }

  #open(key: string | undefined, call: BackendCall, hears: boolean): PooledSession {
    const session = this.#create(call);
    const opening = this.#makeSpace()
      ? session.open(hears || key !== undefined).then(() => session)
      : Promise.reject(new NoAnswer(callFailure(this.#deps.backend.name, 'busy', false)));
    const pooled = { key, session, opening };
    opening.catch(() => this.forget(session));
    this.#all.set(session, pooled);
    if (key !== undefined) this.#byKey.set(key, pooled);
    this.#timer ??= setInterval(() => this.#endIdle(), SWEEP_EVERY).unref();
    return pooled;
  }

  #create({ identity, caller }: BackendCall): BridgedSession {
    const profile = clientProfile(caller, this.#deps.version);
    const session = new BridgedSession(identity, profile, this.#deps, () => this.forget(session));
    return session;
  }

  /** Ends the session that was idle longest if there are too many. */
  #makeSpace(): boolean {
    if (this.#all.size < this.#deps.maxSessions) return true;
    let oldest: BridgedSession | undefined;
    for (const session of this.#all.keys())
      if (session.uses === 0 && (!oldest || session.lastUsed < oldest.lastUsed)) oldest = session;
    if (oldest) this.#end(oldest);
    return oldest !== undefined;
  }

  #endIdle(): void {
    const before = this.#deps.now() - IDLE;
    for (const session of [...this.#all.keys()])
      if (session.uses === 0 && session.lastUsed < before) this.#end(session);
    if (this.#all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #end(session: BridgedSession): void {
    this.forget(session);
    session.close();
  }
}
