import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { AnswerSink, BackendCall, Flow, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import {
  decodeBackendMessage,
  type AnswerKind,
  type BackendMessage,
} from '#runtime/mcp/envelope/decode-backend-message';
import { kindsOfNotification } from '#runtime/mcp/aggregate/list-kinds';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { spliceText } from '#runtime/mcp/envelope/splice';
import type { BridgeDeps } from './bridge-deps.ts';
import type { BridgedSession, SessionCall } from './bridged-session.ts';
import { legacyHeaders } from './legacy-headers.ts';
import { isLogged } from './log-level.ts';
import { readModernMessage, toLegacyRequest, type ModernMessage } from './modern-message.ts';
import type { SessionPool } from './session-pool.ts';
import { toModernAnswer, type ModernAnswer } from './to-modern-answer.ts';

const FIRST_RETRY = 1_000;

/** One request of a modern client at a legacy backend. */
export class BridgedCall implements AnswerSink, RunningCall, SessionCall {
  readonly #call: BackendCall;
  readonly #deps: BridgeDeps;
  readonly #pool: SessionPool;
  readonly #message: ModernMessage;
  #session: BridgedSession | undefined;
  #id = '';
  #upstream: RunningCall | undefined;
  #flow: Flow | undefined;
  #isReopened = false;
  #isStreaming = false;
  #isOver = false;
  #lastEventId: string | undefined;
  #retry = FIRST_RETRY;
  #lastSign = 0;

  constructor(call: BackendCall, pool: SessionPool, deps: BridgeDeps) {
    this.#call = call;
    this.#pool = pool;
    this.#deps = deps;
    this.#message = readModernMessage(call.body ?? Buffer.alloc(0));
  }

  get isHeld(): boolean {
    return this.#upstream?.isHeld ?? false;
  }

  get isRunning(): boolean {
    return !this.#isOver;
  }

  start(): void {
    const { progressToken, logLevel } = this.#message;
    const session = this.#pool.take(this.#call, progressToken !== undefined || logLevel !== undefined);
    if (session instanceof Promise)
      session.then(
        (opened) => this.#begin(opened),
        (error: unknown) => this.#refuse(error),
      );
    else this.#begin(session);
  }

  abort(): void {
    if (this.#isOver) return;
    this.#cancel('The client cancelled the request');
    this.#over();
    this.#upstream?.abort();
  }

  json(_status: number, body: Buffer, kind: AnswerKind): void {
    this.#answered(body, kind);
  }

  accepted(): void {
    this.#fail(callFailure(this.#deps.backend.name, 'protocol', true));
  }

  open(flow: Flow): void {
    this.#flow = flow;
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
      if (message.idText === this.#id) this.#answered(Buffer.from(text), message.answerKind);
    } else if (message.kind === 'notification' && isOfCall(message)) this.notify(message, text);
    else this.#session?.take(event);
  }

  /** `data` is clean. */
  notify(message: BackendMessage, data: string): void {
    if (this.#isOver) return;
    const text = this.#forClient(message, data);
    if (text !== undefined) this.#write(text);
  }

  close(complete: boolean, isBroken = false): void {
    if (this.#isOver || complete) return;
    const { backend, now } = this.#deps;
    // Revision 2025-11-25: a backend may end the stream of a call, and the client fetches the rest after `retry`.
    if (this.#lastEventId !== undefined && now() - this.#lastSign < this.#call.deadline) this.#resumeLater();
    else this.#fail(callFailure(backend.name, isBroken ? 'reset' : 'protocol', true));
  }

  fail(failure: CallFailure): void {
    if (this.#isOver) return;
    if (failure.reason === 'session_lost' && !this.#isReopened) this.#reopen();
    else this.#fail(failure);
  }

  #begin(session: BridgedSession): void {
    this.#session = session;
    if (this.#isOver) {
      this.#release();
      return;
    }
    if (session.isOver) {
      this.#fail(callFailure(this.#deps.backend.name, 'unavailable', false));
      return;
    }
    const { logLevel } = this.#message;
    const telling = logLevel === undefined ? undefined : session.setLevel(logLevel);
    if (telling) void telling.then(() => this.#send(session));
    else this.#send(session);
  }

  #send(session: BridgedSession): void {
    if (this.#isOver) return;
    const { identity, method, headers, deadline, maximum, idempotent, trace } = this.#call;
    this.#id = session.mintId();
    session.calls.set(this.#id, this);
    this.#upstream = this.#deps.backend.send({
      identity,
      era: 'legacy',
      method,
      idText: this.#id,
      verb: 'POST',
      body: toLegacyRequest(this.#message, this.#id),
      headers: session.headers.concat(legacyHeaders(headers)),
      address: session.target.address,
      deadline,
      ...(maximum === undefined ? {} : { maximum }),
      idempotent,
      trace,
      sink: this,
    });
  }

  #resumeLater(): void {
    setTimeout(() => {
      const session = this.#session;
      if (this.#isOver || !session) return;
      const { identity, headers, deadline, maximum } = this.#call;
      this.#upstream = this.#deps.backend.send({
        identity,
        era: 'legacy',
        method: 'GET',
        idText: undefined,
        resumes: this.#id,
        verb: 'GET',
        body: undefined,
        headers: session.headers.concat(legacyHeaders(headers), ['last-event-id', this.#lastEventId ?? '']),
        address: session.target.address,
        deadline,
        ...(maximum === undefined ? {} : { maximum }),
        idempotent: true,
        sink: this,
      });
    }, this.#retry).unref();
  }

  /** The backend forgot the session, so it executed nothing. */
  #reopen(): void {
    this.#isReopened = true;
    if (this.#session) this.#pool.forget(this.#session);
    this.#release();
    this.start();
  }

  #refuse(error: unknown): void {
    if (this.#isOver) return;
    const isFailure = error instanceof NoAnswer;
    this.#fail(isFailure ? error.failure : callFailure(this.#deps.backend.name, 'protocol', false, error));
  }

  #answered(body: Buffer, kind: AnswerKind): void {
    if (this.#isOver) return;
    const { method, idText = 'null' } = this.#call;
    this.#over();
    this.#deliver(toModernAnswer(body, kind, { method, idText, message: this.#message }));
  }

  #deliver({ status, body, kind }: ModernAnswer): void {
    const { sink } = this.#call;
    if (!this.#isStreaming) {
      sink.json(status, body, kind, undefined);
      return;
    }
    this.#emit(body.toString('utf8'));
    sink.close(true);
  }

  /** Returns the notification with the client's own progress token. Undefined: the client did not ask for it. */
  #forClient(message: BackendMessage, data: string): string | undefined {
    const { progressToken, logLevel } = this.#message;
    if (kindsOfNotification(message.method ?? '').length > 0) return data;
    const again = decodeBackendMessage(data);
    if (message.method === PROGRESS) {
      const span = again?.spans['params.progressToken'];
      return span && progressToken !== undefined ? spliceText(data, [{ ...span, text: progressToken }]) : undefined;
    }
    const span = again?.spans['params.level'];
    return span && isLogged(JSON.parse(data.slice(span.start, span.end)), logLevel) ? data : undefined;
  }

  #write(text: string): void {
    if (!this.#isStreaming) {
      this.#isStreaming = true;
      this.#call.sink.open({ pause: () => this.#flow?.pause(), resume: () => this.#flow?.resume() }, undefined);
    }
    this.#emit(text);
  }

  #emit(data: string): void {
    this.#call.sink.event({ id: undefined, retry: undefined, data, message: decodeBackendMessage(data) });
  }

  #cancel(reason: string): void {
    if (this.#id !== '') this.#session?.cancel(this.#id, reason);
  }

  #fail(failure: CallFailure): void {
    // The backend may still work on it.
    if (failure.reason === 'timeout') this.#cancel('timeout');
    this.#over();
    this.#call.sink.fail(failure);
  }

  #over(): void {
    this.#isOver = true;
    this.#release();
  }

  #release(): void {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    session.calls.delete(this.#id);
    this.#pool.leave(session);
  }
}

/** Other messages of a backend concern its session. */
function isOfCall({ method = '' }: BackendMessage): boolean {
  return method === PROGRESS || method === 'notifications/message' || kindsOfNotification(method).length > 0;
}
