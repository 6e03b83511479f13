import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { callDeadline } from '#runtime/mcp/relay/call-deadline';
import { tracedHeaders } from '#runtime/mcp/relay/passthrough-headers';
import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import { progressTokenOf } from '#runtime/mcp/envelope/progress-token';
import { probeEra, mayRefuseRevision, refusesRevision } from '#runtime/mcp/relay/changed-era';
import { ClientAnswer } from '#runtime/mcp/relay/client-answer';
import type { AnswerSink, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { NoAnswer } from '../backends/ask.ts';
import { callFailure, mayBeAway, type CallFailure } from '../backends/failures.ts';
import { bridgeFor } from '../backends/health.ts';
import type { PreparedCall } from '../route/prepare-call.ts';
import { dropBackendSession, ensureBackendSession, backendSessionHeaders } from '../sessions/open-backend-session.ts';
import { awaitsClient, endQuestionsOf } from '../sessions/client-questions.ts';
import { enterCall, keepCall, leaveCall } from '../sessions/in-flight.ts';
import type { BackendSession, InFlightCall } from '../sessions/session.ts';
import { answerLogin } from './answer-login.ts';
import type { TraceStep } from '#runtime/request-record';
import { relayedEvent, relayedEventId, type EventSource } from './relayed-event.ts';
import { tellGivenUp } from './cancel-call.ts';
import { tellProgressToken } from './expected-progress.ts';
import type { LegacyRequest } from './legacy-request.ts';
import { taskSink } from './task-sink.ts';

/** Settles when the answer is sent. */
export function relayCall(request: LegacyRequest, call: PreparedCall, passthrough: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => new LegacyRelay(request, call, passthrough, { resolve, reject }).start());
}

type Settle = Readonly<{ resolve: () => void; reject: (error: unknown) => void }>;
type EventFields = Pick<StreamEvent, 'id' | 'retry'>;

class LegacyRelay implements AnswerSink, InFlightCall {
  readonly #request: LegacyRequest;
  readonly #call: PreparedCall;
  readonly #passthrough: readonly string[];
  readonly #answer: ClientAnswer;
  readonly #settle: Settle;
  #running: RunningCall | undefined;
  #backendSession: BackendSession | undefined;
  #reopened = false;
  #isProbed = false;
  #resumable = false;
  #isOver = false;
  #step: TraceStep | undefined;

  constructor(request: LegacyRequest, call: PreparedCall, passthrough: readonly string[], settle: Settle) {
    this.#request = request;
    this.#call = call;
    this.#passthrough = passthrough;
    this.#answer = new ClientAnswer(request);
    this.#settle = settle;
  }

  start(): void {
    const { session, message, res, services, requestRecord } = this.#request;
    session.calls++;
    const isWanted = enterCall(session, message.idText, this) && !requestRecord.isCancelled;
    // The listener stays after the end of the call: removing it costs more than one call without effect.
    res.on('close', () => this.#clientLeft());
    const { name } = this.#call.backend;
    if (!isWanted) this.cancel();
    // The client left while the call waited for a list.
    else if (res.destroyed) this.#clientLeft();
    else if (session.lostAt && services.sessions.takeLoss(session, name))
      this.fail(callFailure(name, 'state_lost', false));
    else this.#withBackendSession();
  }

  awaitsClient(): boolean {
    const { session, message } = this.#request;
    return awaitsClient(session, this.#call.backend.name, message.idText);
  }

  get backend(): string {
    return this.#call.backend.name;
  }

  get progressToken(): string | undefined {
    return progressTokenOf(this.#request.message, this.#request.body);
  }

  get isResumable(): boolean {
    return this.#resumable;
  }

  cancel(): void {
    this.#running?.abort(true);
    this.#cancelled();
  }

  json(status: number, body: Buffer, kind: AnswerKind): void {
    if (refusesRevision(status, body, kind) && this.#isProbing(() => this.json(status, body, kind))) return;
    // Some clients hang on an HTTP error to a POST, so every JSON-RPC answer of a backend is sent with 200.
    this.#answer.json(200, body, kind);
    this.#over();
    this.#settle.resolve();
  }

  /** The backend may speak another era since its last probe. It acted on nothing, so the call is sent again, once. */
  #isProbing(otherwise: () => void): boolean {
    if (this.#isProbed) return false;
    this.#isProbed = true;
    const then = { isOver: () => this.#isOver, changed: () => this.#reopen(), same: otherwise };
    probeEra(this.#call.backend, 'legacy', this.#request, then);
    return true;
  }

  part(bytes: readonly Buffer[], flow: Flow): void {
    this.#answer.part(bytes, flow);
  }

  ended(kind: AnswerKind, event?: EventFields): void {
    if (event === undefined) {
      this.#answer.ended(kind);
      this.#over();
      this.#settle.resolve();
      return;
    }
    // The end of the stream comes after it.
    const id = relayedEventId(event.id, this.#eventSource());
    this.#answer.ended(kind, { id, retry: event.retry });
  }

  accepted(): void {
    this.fail(callFailure(this.#call.backend.name, 'protocol', true));
  }

  open(flow: Flow): void {
    this.#answer.open(flow);
  }

  event(event: StreamEvent): void {
    const { session, services } = this.#request;
    services.sessions.touch(session);
    if (event.id !== undefined) this.#resumable = true;
    if (event.message) this.#answer.noteEvent(event.message, event.data);
    const text = relayedEvent(event, this.#eventSource());
    if (text !== undefined) this.#answer.write(text);
  }

  #eventSource(): EventSource {
    const { session, identity, services, message } = this.#request;
    const { backend, relatedTask } = this.#call;
    return { backend, stream: message.idText, call: this, identity, services, session, relatedTask };
  }

  close(complete: boolean, isBroken = false): void {
    // The client resumes from the last event with an id. Without such an id no answer can follow.
    if (!complete && !this.#resumable) {
      this.fail(callFailure(this.#call.backend.name, isBroken ? 'reset' : 'protocol', true));
      return;
    }
    this.#answer.end();
    this.#over(complete);
    this.#settle.resolve();
  }

  fail(failure: CallFailure): void {
    if (mayRefuseRevision(failure) && this.#isProbing(() => this.fail(failure))) return;
    this.#step?.end(failure.reason);
    // A channel that received the cancellation finds the call itself.
    if (failure.reason === 'aborted') {
      this.#cancelled();
      return;
    }
    if (failure.reason === 'timeout' && this.#backendSession) tellGivenUp(this.#backendSession, this.#request);
    if (failure.reason === 'session_lost' && !this.#reopened) {
      this.#reopen();
      return;
    }
    if (failure.reason === 'ended') this.#forgetProcess();
    this.#failed(failure);
  }

  #failed(failure: CallFailure): void {
    if (mayBeAway(failure)) this.#request.services.backends.watch(this.#call.backend.name)?.nudge();
    this.#over();
    if (this.#answer.fail(failure)) this.#settle.resolve();
    else this.#refused(failure.error);
  }

  /** The client was told of the loss. The next call opens another process. */
  #forgetProcess(): void {
    const { session, services } = this.#request;
    if (this.#backendSession) dropBackendSession(session, this.#backendSession);
    services.sessions.takeLoss(session, this.#call.backend.name);
  }

  #withBackendSession(): void {
    const { session, identity, services, requestRecord } = this.#request;
    const { backend } = this.#call;
    requestRecord.bridge = bridgeFor(backend.health, 'legacy');
    const backendSession = ensureBackendSession(session, backend, identity, services);
    if (backendSession instanceof Promise) {
      backendSession.then(
        (opened) => this.#send(opened),
        (error: unknown) => this.#notOpened(error),
      );
    } else {
      this.#send(backendSession);
    }
  }

  #notOpened(error: unknown): void {
    const isRefused = error instanceof NoAnswer && error.failure.reason === 'protocol';
    if (!isRefused || !this.#isProbing(() => this.#refuse(error))) this.#refuse(error);
  }

  #send(backendSession: BackendSession): void {
    // The client has left during the opening of the backend session.
    if (this.#isOver) return;
    this.#backendSession = backendSession;
    const { message, identity, services, requestRecord } = this.#request;
    const { backend, body, idempotent } = this.#call;
    const { timeouts } = services.config.operational;
    // A task shows no progress on this call until it has ended.
    const isBlocking = this.#call.relatedTask !== undefined;
    if (backend.losesState) services.sessions.noteState(this.#request.session, backend.name);
    if (services.sessions.isShared) tellProgressToken(this.#request, backend.name);
    const step = (this.#step = requestRecord.trace?.callBackend(backend.name));
    this.#running = backend.send({
      identity,
      era: 'legacy',
      session: this.#request.session,
      method: message.method,
      idText: message.idText,
      verb: 'POST',
      body: step ? step.inMeta(body) : body,
      headers: this.#headers(backendSession, step),
      address: backendSession.address,
      deadline: isBlocking ? timeouts.maximum : callDeadline(services, backend.name),
      maximum: timeouts.maximum,
      idempotent,
      trace: requestRecord.trace,
      sink: taskSink(this, this.#request, this.#call, backendSession),
    });
  }

  #headers(backendSession: BackendSession, step: TraceStep | undefined): string[] {
    const headers =
      this.#passthrough.length === 0
        ? backendSessionHeaders(backendSession)
        : backendSessionHeaders(backendSession).concat(this.#passthrough);
    return step ? tracedHeaders(headers, step) : headers;
  }

  /** The backend forgot the session. A 404 means that nothing was executed, so the call is sent again. */
  #reopen(): void {
    this.#reopened = true;
    // Another call may have opened a new session meanwhile.
    const { session, services } = this.#request;
    const { name } = this.#call.backend;
    if (this.#backendSession) dropBackendSession(session, this.#backendSession);
    if (services.sessions.takeLoss(session, name)) this.fail(callFailure(name, 'state_lost', false));
    else this.#withBackendSession();
  }

  #refuse(error: unknown): void {
    this.#over();
    this.#refused(error instanceof NoAnswer ? error.failure.error : error);
  }

  #refused(error: unknown): void {
    if (!(error instanceof LoginNeeded)) this.#settle.reject(error);
    else answerLogin(this.#request, this.#call.backend, error).then(this.#settle.resolve, this.#settle.reject);
  }

  #cancelled(): void {
    if (this.#isOver) return;
    this.#answer.cancelled();
    this.#step?.end('aborted');
    this.#over();
    this.#settle.resolve();
  }

  #clientLeft(): void {
    if (this.#isOver) return;
    // The 2025-11-25 transports do not treat this as a cancellation: the client may resume to receive the answer.
    this.#running?.abort();
    this.#over(!this.#resumable);
    this.#settle.resolve();
  }

  #over(answered = true): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#step?.end();
    const { session, message, services } = this.#request;
    session.calls--;
    services.sessions.touch(session);
    if (answered) {
      leaveCall(session, message.idText, this);
      endQuestionsOf(session, this.#call.backend.name, message.idText);
    } else keepCall(session, message.idText, this);
  }
}
