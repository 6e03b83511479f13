import { InFlight, type Entry } from '#runtime/in-flight';
import type { Identity } from '#runtime/incoming/identity';
import type { StreamEvent } from '#runtime/mcp/backends/backend';
import { kindsOfNotification } from '#runtime/mcp/aggregate/list-kinds';
import { ask, type Answer } from '#runtime/mcp/backends/ask';
import { endSession } from '#runtime/mcp/backends/probe';
import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { PROGRESS, reportedToken } from '#runtime/mcp/envelope/progress-token';
import { ASSUMED } from '#runtime/mcp/sessions/capabilities';
import { backendSessionHeaders, notify, sendInitialized } from '#runtime/mcp/sessions/open-backend-session';
import type { BackendSession } from '#runtime/mcp/sessions/session';
import type { BridgeDeps } from './bridge-deps.ts';
import type { ClientProfile } from './client-profile.ts';
import { isAnswerable, refuseRequest } from './input-round.ts';
import { LogLevel } from './log-level.ts';
import { openSession } from './open-session.ts';
import { SessionStream } from './session-stream.ts';
import { SessionTasks } from './session-tasks.ts';
import { SessionSubscriptions } from './session-subscriptions.ts';
import type { TaskSession } from './modern-task.ts';
import type { TaskInput } from './task-input.ts';

const MAX_EARLY = 16;
const NONE: readonly string[] = [];
/** Milliseconds. */
const MISSED_EVERY = 10_000;
const UPDATED = 'notifications/resources/updated';
const ONLY_DURING_CALLS = 'The client takes requests during its own requests only';

/** A call of a session, as far as messages of the backend concern it. */
export interface SessionCall extends Entry {
  /** JSON text of the id at the backend. */
  readonly id: string;
  /** Whether the backend works on it, and does not wait for its client. */
  readonly isRunning: boolean;
  /** Whether its client may be asked for input. */
  readonly takesInput: boolean;
  /** Number of the backend's requests that wait for its client. */
  readonly questions: number;
  /** Takes a progress report or a log message. */
  notify(message: BackendMessage, data: string): void;
  /** Takes a request of the backend. */
  ask(message: BackendMessage, data: string): void;
  /** The backend gave up its request with this id. */
  withdraw(id: unknown): void;
}

/** Hears of changed resources. */
export interface SessionListener {
  /** `data`: the notification, clean. */
  updated(uri: string, data: string): void;
  /** Changes may be missed. */
  missed(): void;
  /** The session is over. */
  ended(): void;
}

interface SessionEvents {
  /** The backend no longer knows the session. */
  readonly onLost: () => void;
  /** The backend sent a request during a call, but not on the stream of that call. */
  readonly onAsked: () => void;
}

/** One session at a legacy backend, for calls of modern clients with one principal and profile. */
export class BridgedSession {
  readonly profile: ClientProfile;
  readonly calls = new InFlight<SessionCall>();
  readonly listeners = new Set<SessionListener>();
  readonly subscriptions = new SessionSubscriptions(async (method, uri) => {
    const answer = await this.request(method, JSON.stringify({ uri }));
    return answer?.result !== undefined;
  });
  /** The newest caller's, as tokens expire. */
  identity: Identity;
  /** Number of calls and listeners. */
  uses = 0;
  /** Number of calls whose client may be asked for input. */
  leases = 0;
  lastUsed: number;
  isOver = false;
  readonly #deps: BridgeDeps;
  readonly #onLost: () => void;
  readonly #onAsked: () => void;
  /** By the JSON text of the id. */
  readonly #early = new Map<string, string>();
  readonly #level = new LogLevel();
  #target: BackendSession | undefined;
  #stream: SessionStream | undefined;
  #tasks: SessionTasks | undefined;
  #lastId = 0;
  #lastMissed = -Infinity;

  constructor(identity: Identity, profile: ClientProfile, deps: BridgeDeps, { onLost, onAsked }: SessionEvents) {
    this.identity = identity;
    this.profile = profile;
    this.#deps = deps;
    this.#onLost = onLost;
    this.#onAsked = onAsked;
    this.lastUsed = deps.now();
  }

  /** `hears`: the backend's own stream is needed too. @throws NoAnswer */
  async open(hears: boolean): Promise<void> {
    const { backend, deadline } = this.#deps;
    this.#target = await openSession(this.identity, this.profile, this.#deps);
    // Many servers ask for roots as soon as they are initialized, and requests without a stream are lost.
    if (hears) await this.hear();
    await sendInitialized(this.#target, backend, this.identity, deadline);
    if (this.isOver) void this.#end();
  }

  /** Continues a session that another process opened, or that the pool has dropped. */
  adopt(session: TaskSession): void {
    const { backend } = this.#deps;
    const { capabilities = ASSUMED } = backend.health;
    this.#target = { backend: backend.name, at: backend, capabilities, initialized: true, ...session };
  }

  /** Most sessions have no tasks, and there are many sessions. */
  get tasks(): SessionTasks {
    return (this.#tasks ??= new SessionTasks());
  }

  /** Whether the session may have a task. The backend is not told of its end: another process may continue it. */
  get isKept(): boolean {
    return this.#tasks?.isAny(this.#deps.now()) ?? false;
  }

  /** The session waits for requests about its tasks. Backends ask for their input on other streams. */
  rest(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** @throws Error before the session is open */
  get target(): BackendSession {
    if (!this.#target) throw new Error('the session is not open');
    return this.#target;
  }

  get isOpen(): boolean {
    return this.#target?.initialized === true;
  }

  get headers(): string[] {
    return backendSessionHeaders(this.target);
  }

  mintId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }

  /** Opens the backend's own stream once. Settles when messages on it arrive, or soon. */
  async hear(): Promise<void> {
    const { backend } = this.#deps;
    this.#stream ??= new SessionStream({
      backend,
      identity: () => this.identity,
      target: this.target,
      take: (event) => this.take(event),
      missed: () => this.#missed(),
      lost: () => this.#onLost(),
    });
    await this.#stream.opened;
  }

  /** The level applies to the whole session, so it only becomes more verbose. Each call filters its messages. */
  setLevel(level: string): Promise<void> | undefined {
    if (!this.target.capabilities.logging || !this.#level.lower(level)) return undefined;
    return this.request('logging/setLevel', JSON.stringify({ level })).then(() => undefined);
  }

  /** Returns undefined if the backend gives no answer. */
  async request(method: string, paramsText: string): Promise<Answer | undefined> {
    if (!this.#target) return undefined;
    const { backend, deadline } = this.#deps;
    const { identity, headers } = this;
    const { address } = this.#target;
    const question = { identity, era: 'legacy', method, paramsText, headers, address, deadline } as const;
    return ask(backend, question).catch(() => undefined);
  }

  /** Sends a notification, or the answer to a request of the backend. */
  tell(message: object): void {
    if (!this.#target) return;
    const { backend, deadline } = this.#deps;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    void notify(this.#target, backend, this.identity, deadline, body);
  }

  cancel(idText: string, reason: string): void {
    const params = { requestId: JSON.parse(idText) as unknown, reason };
    this.tell({ method: 'notifications/cancelled', params });
  }

  /** Takes a message that belongs to no call, or to one that is not known yet. */
  take({ message, data }: StreamEvent): void {
    if (!message || message.kind === 'response') return;
    const text = message.cleanText(data);
    if (message.kind === 'request') this.#asked(message, text, this.#inputFor(message, data));
    else if (message.method === 'notifications/cancelled') this.#withdrawn(text);
    else if (message.method === PROGRESS) this.#callOf(message, data)?.notify(message, text);
    else if (message.method === UPDATED) this.#updated(text);
    else if (message.method === 'notifications/message') this.#onlyRunning()?.notify(message, text);
    else if (message.method?.endsWith('/list_changed') === true) this.#deps.listChanged(message.method);
  }

  /** Returns the requests for roots that came before any call, as JSON texts. */
  takeEarlyRequests(): readonly string[] {
    if (this.#early.size === 0) return NONE;
    const requests = [...this.#early.values()];
    this.#early.clear();
    return requests;
  }

  #inputFor(message: BackendMessage, data: string): TaskInput | undefined {
    return this.#tasks?.inputFor(message, data);
  }

  /**
   * A request that names no call belongs to a running one: a call that waits for its client asks nothing else. All calls are of one
   * principal and client, so the one with the fewest questions takes it.
   */
  #asked(message: BackendMessage, data: string, input: TaskInput | undefined): void {
    if (input) {
      input.ask(message, data);
      return;
    }
    let call: SessionCall | undefined;
    for (const one of this.calls.all())
      if (one.isRunning && one.takesInput && !(call && call.questions <= one.questions)) call = one;
    if (message.method !== 'ping' && this.calls.size > 0) this.#onAsked();
    if (call) call.ask(message, data);
    else if (message.method === 'roots/list' && isAnswerable(message, this)) this.#keep(message, data);
    else refuseRequest(message, this, ONLY_DURING_CALLS);
  }

  #keep({ idText = '' }: BackendMessage, data: string): void {
    if (this.#early.size < MAX_EARLY) this.#early.set(idText, data);
  }

  /** Some servers end the stream every second, which is not worth an announcement each time. */
  #missed(): void {
    const now = this.#deps.now();
    if (now - this.#lastMissed < MISSED_EVERY) return;
    this.#lastMissed = now;
    for (const listener of this.listeners) listener.missed();
  }

  #updated(data: string): void {
    const { params } = JSON.parse(data) as { params?: { uri?: unknown } };
    const uri = params?.uri;
    if (typeof uri === 'string') for (const listener of this.listeners) listener.updated(uri, data);
  }

  #withdrawn(data: string): void {
    const { params } = JSON.parse(data) as { params?: { requestId?: unknown } };
    this.#early.delete(JSON.stringify(params?.requestId));
    for (const call of this.calls.all()) call.withdraw(params?.requestId);
    for (const input of this.#tasks?.inputs.values() ?? []) input.withdraw(params?.requestId);
  }

  #callOf(message: BackendMessage, data: string): SessionCall | undefined {
    const token = reportedToken(message, data);
    return this.calls.all().find(({ id }) => id === token);
  }

  /** With two running calls, nothing says to which a message belongs. */
  #onlyRunning(): SessionCall | undefined {
    const running = this.calls.all().filter(({ isRunning }) => isRunning);
    return running.length === 1 ? running[0] : undefined;
  }

  endListeners(): void {
    for (const listener of [...this.listeners]) listener.ended();
  }

  /** Settles when the backend knows. */
  async close(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    await this.#end();
  }

  async #end(): Promise<void> {
    const target = this.#target;
    this.#target = undefined;
    this.#stream?.close();
    for (const input of this.#tasks?.inputs.values() ?? []) input.close();
    if (target && !this.isKept) await endSession(this.#deps.backend, this.identity, target);
  }
}

/** Whether a notification on the stream of a call belongs to the call. Others concern the session. */
export function isOfCall({ method = '' }: BackendMessage): boolean {
  return method === PROGRESS || method === 'notifications/message' || kindsOfNotification(method).length > 0;
}
