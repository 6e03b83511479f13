import { QuotaExceeded } from '#lib/limits/quota';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Spans } from '#runtime/mcp/envelope/scan-envelope';
import type { BridgeDeps } from './bridge-deps.ts';
import type { BridgedSession } from './bridged-session.ts';
import type { PendingRequest, RequestHost, Outcome } from './pending-request.ts';
import { inputRequired, noInputInTime, tooManyParked, tooManyRounds, urlRequests } from './input-required.ts';
import { InputRound, isAnswerable, refuseRequest } from './input-round.ts';
import { objectAt, type ModernMessage } from './modern-message.ts';
import { createdTask, modernTask, renderTask, taskIdOf } from './modern-task.ts';
import { KEPT, ROUND_TIME, type ParkedCall, type ParkedPlace } from './parked-calls.ts';
import { bindingOf, type RequestState } from './request-state.ts';
import type { SessionPool } from './session-pool.ts';
import { UpstreamCall, type UpstreamHost } from './upstream-call.ts';

/** Milliseconds in which requests that a backend sends one after the other become one round. */
const GATHER = 15;
/** Milliseconds. */
const LONGEST_TASK = 3_600_000;
/** Characters of messages that arrive while no request of the client waits. */
const MAX_HELD = 1_048_576;
/** Requests of the backend that wait for the client. */
const MAX_ASKED = 100;
const MAX_ROUNDS = 100;
/** Requests of the client that wait for one call. */
const MAX_REQUESTS = 16;
/** Bytes of a result that stays for repeated retries. */
const MAX_KEPT = 1_048_576;

/** One call of a modern client at a legacy backend: from its first request to its result, with all rounds of input. */
export class BridgedCall implements UpstreamHost, ParkedCall, RequestHost {
  readonly call: PendingRequest['call'];
  readonly backend: string;
  readonly message: ModernMessage;
  readonly taskTtl: number | undefined;
  isParked = false;
  readonly #deps: BridgeDeps;
  readonly #upstream: UpstreamCall;
  readonly #input = new InputRound();
  /** Requests of the client that wait for an answer. Several, if the client repeated a retry. */
  #requests: PendingRequest[];
  #held: { message: BackendMessage; data: string }[] = [];
  #heldLength = 0;
  #round = 0;
  #isSent = false;
  /** The session whose requests the client answers. It outlives the call. */
  #asking: BridgedSession | undefined;
  #place: ParkedPlace | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  /** The result. It stays for repeated retries. */
  #outcome: Outcome | undefined;

  constructor(request: PendingRequest, pool: SessionPool, deps: BridgeDeps, wantsTask = false) {
    this.call = request.call;
    this.backend = request.backend;
    this.message = request.message;
    this.taskTtl = wantsTask ? (request.call.maximum ?? LONGEST_TASK) : undefined;
    request.host = this;
    this.#requests = [request];
    this.#deps = deps;
    this.#upstream = new UpstreamCall(this, pool, deps);
  }

  start(): void {
    this.#upstream.start();
  }

  get isHeld(): boolean {
    return this.#upstream.isHeld;
  }

  get questions(): number {
    return this.#input.size;
  }

  pause(): void {
    this.#upstream.pause();
  }

  resume(): void {
    this.#upstream.resume();
  }

  /** In this revision, a client cancels by closing its stream. */
  left(request: PendingRequest): void {
    this.#requests = this.#requests.filter((one) => one !== request);
    if (this.#requests.length > 0 || this.isParked || this.#outcome) return;
    this.#input.end(this.#upstream.session, 'The client cancelled the request');
    this.#upstream.cancel('The client cancelled the request');
    this.#finish(noInputInTime);
  }

  /** Requests that the backend sent before any call come first. */
  ready(session: BridgedSession): boolean {
    if (this.#upstream.takesInput) for (const data of session.takeEarlyRequests()) this.#input.add('roots/list', data);
    this.#isSent = this.#input.size === 0;
    if (!this.#isSent) this.#park();
    return this.#isSent;
  }

  notified(message: BackendMessage, data: string): void {
    const request = this.#requests.at(-1);
    if (request) request.notify(message, data);
    else if (this.#heldLength + data.length <= MAX_HELD) {
      this.#heldLength += data.length;
      this.#held.push({ message, data });
    }
  }

  asked(message: BackendMessage, data: string): void {
    const { session, takesInput } = this.#upstream;
    if (!session || this.#outcome) return;
    if (message.method === 'ping' || !takesInput || !isAnswerable(message, session)) {
      refuseRequest(message, session);
      return;
    }
    if (this.#input.size >= MAX_ASKED) {
      refuseRequest(message, session, 'Too many requests wait for the client');
      return;
    }
    this.#asking = session;
    this.#input.add(message.method ?? '', data);
    clearTimeout(this.#gathering);
    this.#gathering = setTimeout(() => this.#park(), GATHER);
  }

  withdrawn(id: unknown): void {
    this.#input.withdraw(id);
  }

  answered(body: Buffer, kind: AnswerKind, spans: Spans | undefined): void {
    if (this.call.method === 'tools/list') {
      this.#deps.checkedHeaders.learn(body);
      this.#deps.taskTools.learn(body);
    }
    const urls = kind === 'error' && this.#upstream.takesInput ? this.#urlRequests(body) : undefined;
    if (urls === undefined) this.#finish({ body, kind, spans });
    else this.#finish(inputRequired(urls, this.#seal({ round: 0 })));
  }

  isTask(body: Buffer, session: BridgedSession): boolean {
    const task = this.taskTtl === undefined ? undefined : createdTask(body);
    if (!task) return false;
    const id = String(task.taskId);
    session.tasks.note(id, task, this.#deps.now());
    const taskId = taskIdOf({ ...session.target, id });
    this.#finish({ render: (idText) => renderTask(idText, modernTask(task, taskId), 'task') });
    return true;
  }

  failed(failure: CallFailure): void {
    this.#finish({ failure });
  }

  retry(request: PendingRequest, { round }: RequestState): void {
    request.host = this;
    this.#requests.push(request);
    // A repeated retry means that the client gave up the former one.
    if (this.#requests.length > MAX_REQUESTS)
      this.#requests.shift()?.deliver({ failure: callFailure(this.backend, 'busy', true) });
    const responses = objectAt(request.message.body, request.message.spans['params.inputResponses']);
    if (this.#outcome) {
      // The requests may be those of another call, as some backends do not say for which call they ask.
      if (round === this.#round && this.#asking) this.#input.answer(responses, this.#asking);
      this.#deliver(this.#outcome);
      return;
    }
    const isRepeated = round < this.#round || !this.isParked;
    if (!isRepeated) this.#takeResponses(responses);
    else if (this.isParked) this.#ask();
  }

  #takeResponses(responses: JsonObject): void {
    const { session } = this.#upstream;
    const isAnswered = session !== undefined && this.#input.answer(responses, session) > 0;
    // The client is asked again for missing answers.
    if (this.#input.size > 0 && session) {
      if (isAnswered) this.#round += 1;
      this.#ask();
      return;
    }
    clearTimeout(this.#expiry);
    this.isParked = false;
    this.#upstream.park(false);
    this.#heldLength = 0;
    for (const { message, data } of this.#held.splice(0)) this.notified(message, data);
    if (this.#isSent) return;
    this.#isSent = true;
    this.#upstream.send();
  }

  #park(): void {
    if (this.#outcome || this.#input.size === 0) return;
    if (this.#round >= MAX_ROUNDS) {
      this.#end('Too many rounds of input', tooManyRounds);
      return;
    }
    try {
      this.#place ??= this.#deps.parkedCalls.add(this);
    } catch (error) {
      if (!(error instanceof QuotaExceeded)) throw error;
      this.#end('Too many calls wait for input', { failure: tooManyParked(this.#deps.backend.name, error) });
      return;
    }
    this.isParked = true;
    this.#round += 1;
    this.#upstream.park(true);
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#end('No input in time', noInputInTime), ROUND_TIME).unref();
    this.#ask();
  }

  #ask(): void {
    const state = this.#seal({ call: this.#place?.id, round: this.#round });
    this.#deliver(inputRequired(this.#input.requests, state));
  }

  #seal(state: Pick<RequestState, 'call' | 'round'>): string {
    // It outlives the call, so that a late client learns that the call expired.
    const expiresAt = this.#deps.wallClock() + ROUND_TIME + KEPT;
    const binding = bindingOf(this.call, this.#deps.backend.name, this.message);
    return this.#deps.parkedCalls.seal({ ...state, expiresAt }, binding);
  }

  /** Ends the call without an answer of the backend. */
  #end(reason: string, outcome: Outcome): void {
    this.#input.end(this.#upstream.session, reason);
    this.#upstream.cancel(reason);
    this.#finish(outcome);
  }

  #finish(outcome: Outcome): void {
    this.isParked = false;
    this.#outcome = outcome;
    this.#held = [];
    clearTimeout(this.#gathering);
    clearTimeout(this.#expiry);
    const isAwaited = this.#requests.length === 0;
    this.#deliver(outcome);
    this.#place?.release(isAwaited, 'body' in outcome ? outcome.body.length : 0);
  }

  #deliver(outcome: Outcome): void {
    const requests = this.#requests.splice(0);
    for (const request of requests) request.deliver(outcome);
    const isLarge = 'body' in outcome && outcome.body.length > MAX_KEPT;
    if (isLarge && requests.length > 0) this.#outcome = { failure: callFailure(this.backend, 'too_large', true) };
  }

  /** Older revisions have an error for calls that need an opened link. The client calls again afterwards. */
  #urlRequests(body: Buffer): JsonObject | undefined {
    const { elicitation } = this.#capabilities;
    return isJsonObject(elicitation) && elicitation.url !== undefined ? urlRequests(body) : undefined;
  }

  get #capabilities(): JsonObject {
    const declared: unknown = JSON.parse(this.call.caller?.capabilities ?? '{}');
    return isJsonObject(declared) ? declared : {};
  }
}
