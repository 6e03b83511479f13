import type { AnswerSink, BackendCall, Flow, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { refusesRevision } from '#runtime/mcp/relay/changed-era';
import type { Spans } from '#runtime/mcp/envelope/scan-envelope';
import type { BridgeDeps } from './bridge-deps.ts';
import { isOfCall, type BridgedSession, type SessionCall } from './bridged-session.ts';
import { takesInput } from '../../input-methods.ts';
import { legacyHeaders } from './legacy-headers.ts';
import { toLegacyRequest, type ModernMessage } from './modern-message.ts';
import { openingFailure } from './open-session.ts';
import type { SessionPool } from './session-pool.ts';

const FIRST_RETRY = 1_000;

export interface UpstreamHost {
  readonly call: BackendCall;
  readonly message: ModernMessage;
  readonly isParked: boolean;
  readonly questions: number;
  /** Milliseconds of the task that the call asks for. Undefined: none. */
  readonly taskTtl: number | undefined;
  /** Returns whether the request may be sent now. Otherwise the host calls `send`. */
  ready(session: BridgedSession): boolean;
  /** `data` is clean. */
  notified(message: BackendMessage, data: string): void;
  /** The backend sent a request. `data` is clean. */
  asked(message: BackendMessage, data: string): void;
  /** The backend gave up its request. */
  withdrawn(id: unknown): void;
  answered(body: Buffer, kind: AnswerKind, spans: Spans | undefined): void;
  /** Returns whether the answer is a task. Its session must outlive the call. */
  isTask(body: Buffer, session: BridgedSession): boolean;
  failed(failure: CallFailure): void;
}

/** A request in the form of older revisions, in a session of the bridge, until its response. */
export class UpstreamCall implements AnswerSink, SessionCall, Flow {
  readonly takesInput: boolean;
  /** Empty: nothing was sent. */
  id = '';
  earlier: this | undefined;
  later: this | undefined;
  readonly #host: UpstreamHost;
  readonly #pool: SessionPool;
  readonly #deps: BridgeDeps;
  #session: BridgedSession | undefined;
  #running: RunningCall | undefined;
  #flow: Flow | undefined;
  #leavePlace: (() => void) | undefined;
  #isFinal = false;
  #lastEventId: string | undefined;
  #retry = FIRST_RETRY;
  #lastSign = 0;
  #isOver = false;

  constructor(host: UpstreamHost, pool: SessionPool, deps: BridgeDeps) {
    this.#host = host;
    this.#pool = pool;
    this.#deps = deps;
    this.takesInput = takesInput(host.call.method);
  }

  get isHeld(): boolean {
    return this.#running?.isHeld ?? false;
  }

  get isRunning(): boolean {
    return !this.#isOver && !this.#host.isParked;
  }

  get questions(): number {
    return this.#host.questions;
  }

  get session(): BridgedSession | undefined {
    return this.#session;
  }

  start(): void {
    const { call, message } = this.#host;
    const hears = message.progressToken !== undefined || message.logLevel !== undefined;
    const session = this.#pool.take(call, hears);
    if (session instanceof Promise) {
      session.then(
        (opened) => this.#begin(opened),
        (error: unknown) => this.#fail(openingFailure(error, this.#deps.backend.name)),
      );
    } else this.#begin(session);
  }

  send(): void {
    const session = this.#session;
    if (this.#isOver || !session) return;
    if (!this.takesInput || !session.profile.isAskable) this.#post(session, false);
    else
      this.#pool.places.acquire().then(
        (leave) => {
          this.#leavePlace = leave;
          if (this.#isOver) leave();
          else this.#post(session, true);
        },
        () => this.#fail(callFailure(this.#deps.backend.name, 'busy', false)),
      );
  }

  /** A call that waits for its client takes no place of the backend. */
  park(isParked: boolean): void {
    if (isParked) this.#leavePlace?.();
    this.#running?.park?.(isParked);
  }

  /** Ends the call, and tells the backend so. */
  cancel(reason: string): void {
    if (this.#isOver) return;
    this.#tellCancelled(reason);
    this.#over();
    this.#running?.abort();
  }

  awaitsClient(): boolean {
    return this.#host.isParked;
  }

  pause(): void {
    this.#flow?.pause();
  }

  resume(): void {
    this.#flow?.resume();
  }

  json(status: number, body: Buffer, kind: AnswerKind, _sessionId: string | undefined, spans?: Spans): void {
    if (refusesRevision(status, body, kind))
      this.#fail({ ...callFailure(this.#deps.backend.name, 'protocol', false), status });
    else this.#answered(body, kind, spans);
  }

  accepted(): void {
    this.#fail(callFailure(this.#deps.backend.name, 'protocol', true));
  }

  open(flow: Flow): void {
    this.#flow = flow;
    // The backend has begun to act, so the request is not sent again.
    this.#isFinal = true;
    this.#lastSign = this.#deps.now();
  }

  event(event: StreamEvent): void {
    if (this.#isOver) return;
    this.#lastEventId = event.id ?? this.#lastEventId;
    this.#retry = event.retry ?? this.#retry;
    const { message, data } = event;
    if (!message) return;
    this.#lastSign = this.#deps.now();
    const text = message.cleanText(data);
    if (message.kind === 'response') {
      if (message.idText === this.id) this.#answeredByEvent(message, text);
    } else if (message.kind === 'request' && this.#isAttributed) this.ask(message, text);
    else if (isOfCall(message)) this.notify(message, text);
    else this.#session?.take(event);
  }

  notify(message: BackendMessage, data: string): void {
    if (!this.#isOver) this.#host.notified(message, data);
  }

  ask(message: BackendMessage, data: string): void {
    if (!this.#isOver) this.#host.asked(message, data);
  }

  withdraw(id: unknown): void {
    if (!this.#isOver) this.#host.withdrawn(id);
  }

  close(complete: boolean, isBroken = false): void {
    if (this.#isOver || complete) return;
    const isFresh = this.#host.isParked || this.#deps.now() - this.#lastSign < this.#host.call.deadline;
    // Revision 2025-11-25: a backend may end the stream of a call, and the client fetches the rest after `retry`.
    if (this.#lastEventId !== undefined && isFresh) setTimeout(() => this.#fetchRest(), this.#retry).unref();
    else this.#fail(callFailure(this.#deps.backend.name, isBroken ? 'reset' : 'protocol', true));
  }

  fail(failure: CallFailure): void {
    if (this.#isOver) return;
    if (failure.reason === 'session_lost' && !this.#isFinal) this.#reopen();
    else this.#fail(failure);
  }

  /** A channel sends the requests of all calls on the newest one. */
  get #isAttributed(): boolean {
    return this.#deps.backend.config.transport === 'streamable-http';
  }

  #begin(session: BridgedSession): void {
    this.#session = session;
    if (this.#isOver) this.#release();
    else if (session.isOver) this.#fail(callFailure(this.#deps.backend.name, 'unavailable', false));
    else {
      const { logLevel } = this.#host.message;
      const telling = logLevel === undefined ? undefined : session.setLevel(logLevel);
      if (telling) void telling.then(() => this.#go(session));
      else this.#go(session);
    }
  }

  #go(session: BridgedSession): void {
    if (!this.#isOver && this.#host.ready(session)) this.send();
  }

  #post(session: BridgedSession, mayPark: boolean): void {
    const { call, message } = this.#host;
    this.id = session.mintId();
    session.calls.add(this);
    this.#running = this.#deps.backend.send({
      ...this.#common(call, session),
      method: call.method,
      idText: this.id,
      verb: 'POST',
      body: toLegacyRequest(message, this.id, this.#host.taskTtl),
      headers: session.headers.concat(legacyHeaders(call.headers)),
      idempotent: call.idempotent,
      mayPark,
      trace: call.trace,
    });
  }

  #fetchRest(): void {
    const session = this.#session;
    if (this.#isOver || !session) return;
    const { call, isParked } = this.#host;
    const resumed = ['last-event-id', this.#lastEventId ?? ''];
    this.#running = this.#deps.backend.send({
      ...this.#common(call, session),
      method: 'GET',
      idText: undefined,
      resumes: this.id,
      verb: 'GET',
      body: undefined,
      headers: session.headers.concat(legacyHeaders(call.headers), resumed),
      idempotent: true,
      mayPark: true,
    });
    if (isParked) this.#running.park?.(true);
  }

  #common({ identity, deadline, maximum }: BackendCall, { target }: BridgedSession) {
    const { address } = target;
    const limits = maximum === undefined ? { deadline } : { deadline, maximum };
    return { identity, era: 'legacy', address, sink: this, ...limits } as const;
  }

  /** The backend forgot the session, so it executed nothing. */
  #reopen(): void {
    this.#isFinal = true;
    if (this.#session) this.#pool.forget(this.#session);
    this.#release();
    this.start();
  }

  #answeredByEvent({ answerKind, hasReservedMeta, spans }: BackendMessage, text: string): void {
    const body = Buffer.from(text);
    // The positions are characters, which are bytes in ASCII.
    this.#answered(body, answerKind, hasReservedMeta || body.length !== text.length ? undefined : spans);
  }

  #answered(body: Buffer, kind: AnswerKind, spans?: Spans): void {
    if (this.#isOver) return;
    const isTask = this.#session !== undefined && this.#host.isTask(body, this.#session);
    this.#over();
    if (!isTask) this.#host.answered(body, kind, spans);
  }

  #fail(failure: CallFailure): void {
    if (this.#isOver) return;
    // The backend may still work on it.
    if (failure.reason === 'timeout') this.#tellCancelled('timeout');
    this.#over();
    this.#host.failed(failure);
  }

  #tellCancelled(reason: string): void {
    if (this.id !== '') this.#session?.cancel(this.id, reason);
  }

  #over(): void {
    this.#isOver = true;
    this.#release();
  }

  #release(): void {
    this.#leavePlace?.();
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    session.calls.delete(this);
    this.#pool.leave(session, this.takesInput);
  }
}
