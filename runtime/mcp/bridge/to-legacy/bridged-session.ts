import type { Identity } from '#runtime/incoming/identity';
import type { StreamEvent } from '#runtime/mcp/backends/backend';
import { endSession } from '#runtime/mcp/backends/probe';
import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { PROGRESS, reportedToken } from '#runtime/mcp/envelope/progress-token';
import { backendSessionHeaders, notify, sendInitialized } from '#runtime/mcp/sessions/open-backend-session';
import type { BackendSession } from '#runtime/mcp/sessions/session';
import type { BridgeDeps } from './bridge-deps.ts';
import type { ClientProfile } from './client-profile.ts';
import { LogLevel } from './log-level.ts';
import { openSession } from './open-session.ts';
import { SessionStream } from './session-stream.ts';

const METHOD_NOT_FOUND = -32601;

/** A call of a session, as far as messages of the backend concern it. */
export interface SessionCall {
  /** Whether the backend works on it, and does not wait for its client. */
  readonly isRunning: boolean;
  /** Takes a progress report or a log message. */
  notify(message: BackendMessage, data: string): void;
}

/** One session at a legacy backend, for calls of modern clients with one principal and profile. */
export class BridgedSession {
  readonly profile: ClientProfile;
  /** By the JSON text of the id at the backend. */
  readonly calls = new Map<string, SessionCall>();
  /** The newest caller's, as tokens expire. */
  identity: Identity;
  /** Number of calls and listeners. */
  uses = 0;
  lastUsed: number;
  isOver = false;
  readonly #deps: BridgeDeps;
  readonly #onLost: () => void;
  readonly #level = new LogLevel();
  #target: BackendSession | undefined;
  #stream: SessionStream | undefined;
  #lastId = 0;

  constructor(identity: Identity, profile: ClientProfile, deps: BridgeDeps, onLost: () => void) {
    this.identity = identity;
    this.profile = profile;
    this.#deps = deps;
    this.#onLost = onLost;
    this.lastUsed = deps.now();
  }

  /** `hears`: the backend's own stream is needed too. @throws NoAnswer */
  async open(hears: boolean): Promise<void> {
    const { backend, deadline } = this.#deps;
    this.#target = await openSession(this.identity, this.profile, this.#deps);
    // Many servers ask for roots as soon as they are initialized, and requests without a stream are lost.
    if (hears) await this.hear();
    await sendInitialized(this.#target, backend, this.identity, deadline);
    if (this.isOver) this.#end();
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
      lost: () => this.#onLost(),
    });
    await this.#stream.opened;
  }

  /** The level applies to the whole session, so it only becomes more verbose. Each call filters its messages. */
  setLevel(level: string): Promise<void> | undefined {
    return this.#level.lower(level, this.target, this.identity, this.#deps);
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
    if (message.kind === 'request') this.#refuse(message);
    else if (message.method === PROGRESS) this.#callOf(message, data)?.notify(message, text);
    else if (message.method === 'notifications/message') this.#onlyRunning()?.notify(message, text);
    else if (message.method?.endsWith('/list_changed') === true) this.#deps.listChanged(message.method);
  }

  #refuse({ idText = 'null', method }: BackendMessage): void {
    const id: unknown = JSON.parse(idText);
    if (method === 'ping') this.tell({ id, result: {} });
    else this.tell({ id, error: { code: METHOD_NOT_FOUND, message: 'The client takes no such request' } });
  }

  #callOf(message: BackendMessage, data: string): SessionCall | undefined {
    return this.calls.get(reportedToken(message, data) ?? '');
  }

  /** With two running calls, nothing says to which a message belongs. */
  #onlyRunning(): SessionCall | undefined {
    const running = [...this.calls.values()].filter(({ isRunning }) => isRunning);
    return running.length === 1 ? running[0] : undefined;
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#end();
  }

  #end(): void {
    this.#stream?.close();
    if (this.#target) endSession(this.#deps.backend, this.identity, this.#target);
    this.#target = undefined;
  }
}
