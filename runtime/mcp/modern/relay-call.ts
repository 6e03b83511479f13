import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { callDeadline } from '#runtime/mcp/relay/call-deadline';
import { tracedHeaders } from '#runtime/mcp/relay/passthrough-headers';
import { sinkFor } from '#runtime/mcp/relay/rewriting-sink';
import { RequestError } from '#runtime/errors';
import {
  decodeBackendMessage,
  type AnswerKind,
  type BackendMessage,
} from '#runtime/mcp/envelope/decode-backend-message';
import { readIdText } from '#runtime/mcp/envelope/message-id';
import { noteForeignProgress, PROGRESS, progressTokenOf, reportedToken } from '#runtime/mcp/envelope/progress-token';
import { probeEra, mayRefuseRevision, refusesRevision } from '#runtime/mcp/relay/changed-era';
import { ClientAnswer } from '#runtime/mcp/relay/client-answer';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import { kindsOfNotification } from '../aggregate/list-kinds.ts';
import type { AnswerSink, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { callFailure, mayBeAway, type CallFailure } from '../backends/failures.ts';
import type { TraceStep } from '#runtime/request-record';
import { bridgeFor } from '../backends/health.ts';
import type { PreparedCall } from '../route/prepare-call.ts';
import { TASK_CHANGED } from '../extensions.ts';
import { taskAnswer } from '../tasks/task-answer.ts';
import { answerLogin, awaitLogin } from './answer-login.ts';
import type { ModernRequest } from './modern-request.ts';

const CANCELLED = 'notifications/cancelled';

/** Settles when the answer is sent. */
export function relayCall(request: ModernRequest, call: PreparedCall, headers: string[]): Promise<void> {
  return new Promise((resolve, reject) => new ModernRelay(request, call, headers, resolve, reject).start());
}

class ModernRelay implements AnswerSink {
  readonly #request: ModernRequest;
  readonly #call: PreparedCall;
  readonly #headers: string[];
  readonly #answer: ClientAnswer;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #running: RunningCall | undefined;
  #waited = false;
  #isProbed = false;
  #isOver = false;
  #step: TraceStep | undefined;

  constructor(
    request: ModernRequest,
    call: PreparedCall,
    headers: string[],
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#request = request;
    this.#call = call;
    this.#headers = headers;
    this.#answer = new ClientAnswer(request);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    // The listener stays after the end of the call: removing it costs more than one call without effect.
    this.#request.res.on('close', () => this.#clientLeft());
    this.#send();
  }

  #send(): void {
    const { res, message, meta, identity, services, requestRecord } = this.#request;
    // The client left, and so cancelled the call, before it was sent.
    if (res.destroyed) {
      this.#over();
      return;
    }
    const { backend, body, idempotent } = this.#call;
    requestRecord.bridge = bridgeFor(backend.health, 'modern');
    const isNative = backend.health.eras?.has('modern') === true;
    const step = (this.#step = requestRecord.trace?.callBackend(backend.name));
    this.#running = backend.send({
      identity,
      era: 'modern',
      caller: meta,
      source: identity === ANONYMOUS && !isNative ? services.readSource(requestRecord.req) : undefined,
      method: message.method,
      idText: message.idText,
      verb: 'POST',
      body: step ? step.inMeta(body) : body,
      headers: step ? tracedHeaders(this.#headers, step) : this.#headers,
      deadline: callDeadline(services, backend.name),
      maximum: services.config.operational.timeouts.maximum,
      idempotent,
      trace: requestRecord.trace,
      sink: sinkFor(this, this.#call),
    });
  }

  json(status: number, body: Buffer, kind: AnswerKind): void {
    if (refusesRevision(status, body, kind) && this.#isProbing(() => this.json(status, body, kind))) return;
    const whole = this.#isOfTask(kind) ? this.#routed(body.toString('utf8')) : body;
    if (whole === undefined) return;
    // Only statuses that the revision defines: on a backend's 403 clients would log in again here, and some clients hang on a 5xx.
    this.#answer.json(status === 400 || status === 404 ? status : 200, whole, kind);
    this.#over();
  }

  /** The backend may speak another era since its last probe. It acted on nothing, so the call is sent again, once. */
  #isProbing(otherwise: () => void): boolean {
    if (this.#isProbed) return false;
    this.#isProbed = true;
    const then = { isOver: () => this.#isOver, changed: () => this.#send(), same: otherwise };
    probeEra(this.#call.backend, 'modern', this.#request, then);
    return true;
  }

  part(bytes: readonly Buffer[], flow: Flow): void {
    this.#answer.part(bytes, flow);
  }

  ended(kind: AnswerKind, event?: object): void {
    this.#answer.ended(kind);
    // The end of a stream comes after its events.
    if (event === undefined) this.#over();
  }

  accepted(): void {
    this.fail(callFailure(this.#call.backend.name, 'protocol', true));
  }

  open(flow: Flow): void {
    this.#answer.open(flow);
  }

  event({ data, message }: StreamEvent): void {
    // This revision has no requests from the server, and event ids have no meaning.
    if (!message || message.kind === 'request') return;
    const { services } = this.#request;
    const kinds = message.kind === 'notification' ? kindsOfNotification(message.method ?? '') : [];
    if (kinds.length > 0) {
      services.listChangedNotifier.listChanged(this.#call.backend.name, kinds);
      return;
    }
    if (this.#isWithheld(message, data)) return;
    const clean = message.cleanText(data);
    const isOfTask = message.kind === 'response' && this.#isOfTask(message.answerKind);
    const whole = isOfTask ? this.#routed(clean)?.toString('utf8') : clean;
    if (whole === undefined) return;
    this.#answer.noteEvent(message, whole);
    this.#answer.write(writeSse({ event: 'message', data: whole }));
  }

  #isOfTask(kind: AnswerKind): boolean {
    return kind === 'task' || this.#call.taskId !== undefined;
  }

  /** Returns the answer with the client's id of its task. Undefined: the client was told why it gets none. */
  #routed(text: string): Buffer | undefined {
    try {
      const message = decodeBackendMessage(text);
      return Buffer.from(message ? taskAnswer(text, message, this.#request, this.#call) : text);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.#running?.abort();
      this.fail({ reason: 'protocol', sent: true, error });
      return undefined;
    }
  }

  #isWithheld(message: BackendMessage, data: string): boolean {
    if (message.method === PROGRESS) return !this.#wantsProgress(message, data);
    if (message.method === CANCELLED) return !this.#isOwnRequest(message, data);
    // Tasks belong to subscriptions, which know the client's ids.
    return message.method === TASK_CHANGED;
  }

  /** A backend reports the progress of its own call: it cannot speak for another's. */
  #wantsProgress(progress: BackendMessage, data: string): boolean {
    const { message, body, services } = this.#request;
    const token = reportedToken(progress, data);
    if (token !== undefined && token === progressTokenOf(message, body)) return true;
    noteForeignProgress(services.log, this.#call.backend.name);
    return false;
  }

  /** In this revision a backend can name only the request that it answers. */
  #isOwnRequest({ spans }: BackendMessage, data: string): boolean {
    const span = spans['params.requestId'];
    return span !== undefined && readIdText(data.slice(span.start, span.end)) === this.#request.message.idText;
  }

  close(complete: boolean, isBroken = false): void {
    if (!complete) {
      this.fail(callFailure(this.#call.backend.name, isBroken ? 'reset' : 'protocol', true));
      return;
    }
    this.#answer.end();
    this.#over();
  }

  fail(failure: CallFailure): void {
    if (mayRefuseRevision(failure) && this.#isProbing(() => this.fail(failure))) return;
    this.#step?.end(failure.reason);
    if (mayBeAway(failure)) this.#request.services.backends.watch(this.#call.backend.name)?.nudge();
    if (this.#answer.fail(failure)) this.#resolve();
    else this.#refused(failure.error);
  }

  #refused(error: unknown): void {
    const { login } = this.#call.backend.credential;
    if (!(error instanceof LoginNeeded) || !login) {
      this.#reject(error);
      return;
    }
    const isFirst = !this.#waited;
    this.#waited = true;
    (isFirst ? awaitLogin(this.#request, login) : Promise.resolve(false))
      .then((isReady) => (isReady ? this.#send() : answerLogin(this.#request, login, error).then(() => this.#over())))
      .catch(this.#reject);
  }

  /** This revision cancels a request by closing the stream. */
  #clientLeft(): void {
    if (this.#isOver) return;
    this.#running?.abort();
    this.#over();
  }

  #over(): void {
    this.#isOver = true;
    // Before the first probe the bridge was unknown.
    this.#request.requestRecord.bridge ??= bridgeFor(this.#call.backend.health, 'modern');
    this.#step?.end();
    this.#resolve();
  }
}
