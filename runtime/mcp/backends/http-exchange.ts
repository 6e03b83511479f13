import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { CredentialHeaders } from '#runtime/outgoing/credential';
import type { BackendCall, RunningCall } from './backend.ts';
import type { Deadlines, Expiring } from './deadlines.ts';
import { EventAnswer } from './event-answer.ts';
import { callFailure, type CallFailure } from './failures.ts';
import { JsonAnswer } from './json-answer.ts';
import type { Keeper, BufferedBytes } from './buffered-bytes.ts';
import type { AnswerReader, BodyFault, ReadExchange } from './read-answer.ts';

export interface ExchangeHost {
  readonly name: string;
  readonly maxResponseBytes: number;
  readonly deadlines: Deadlines;
  readonly bufferedBytes: BufferedBytes;
  /** Called once. `failure` is undefined if the backend answered. */
  settled(exchange: HttpExchange, failure: CallFailure | undefined): void;
  /** Called when the call begins or ends to wait for its client. */
  parked(exchange: HttpExchange, isParked: boolean): void;
  /** Returns true if the exchange will be sent again. */
  renewCredential(exchange: HttpExchange): boolean;
  refusal(exchange: HttpExchange, status: number): CallFailure;
  /** `sent`: the backend may have begun to act on the request. */
  broken(exchange: HttpExchange, sent: boolean, cause: unknown): CallFailure;
  /** Returns true if the exchange is sent again. */
  resend(exchange: HttpExchange, sent: boolean): boolean;
}

/** Bytes. Small, because there are as many streams as sessions. */
const FREE_OF_STREAM = 65_536;

/** `parked`: a call that waits for its client. */
export type Load = 'call' | 'stream' | 'message' | 'probe' | 'parked';

type Mode = 'waiting' | 'json' | 'stream' | 'accepted' | 'discard';

/**
 * One HTTP request to a backend and its answer: JSON, a stream of events, or 202. Implements the handler of undici's
 * dispatcher.
 */
export class HttpExchange implements Dispatcher.DispatchHandler, Expiring, Keeper, RunningCall, ReadExchange {
  readonly call: BackendCall;
  attempts = 0;
  renewed = false;
  needsFresh = false;
  /** Undefined: the request was refused before it began. */
  load: Load | undefined;
  credential: CredentialHeaders = [];
  readonly deadline: number;
  readonly maximum: number;
  showedLife = true;
  expiresAt = Infinity;
  beganAt = 0;
  earlier: this | undefined;
  later: this | undefined;
  kept = 0;
  isHeld = false;
  status = 0;
  sessionId: string | undefined;
  readonly #host: ExchangeHost;
  #controller: Dispatcher.DispatchController | undefined;
  #mode: Mode = 'waiting';
  #discarded = 0;
  /** Undefined: no body has begun that could be an answer. */
  #reader: AnswerReader | undefined;
  #isPaused = false;
  #over = false;
  #sent = false;

  constructor(host: ExchangeHost, call: BackendCall) {
    this.#host = host;
    this.call = call;
    this.deadline = call.deadline;
    this.maximum = call.maximum ?? Infinity;
  }

  arm(): void {
    this.attempts++;
    this.#mode = 'waiting';
    if (this.deadline > 0) this.#host.deadlines.add(this);
  }

  expire(): void {
    // If the client does not read its answer, the backend is not at fault.
    this.fail(callFailure(this.#host.name, this.#isPaused ? 'aborted' : 'timeout', true));
  }

  abort(): void {
    // Creating an error is costly, and most calls are over when their client's connection closes.
    if (this.#over) return;
    this.#finish(callFailure(this.#host.name, 'aborted', this.#sent));
  }

  park(isParked: boolean): void {
    if (!this.#over) this.#host.parked(this, isParked);
  }

  pause(): void {
    this.#isPaused = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.isHeld) this.#controller?.resume();
  }

  wait(): void {
    this.isHeld = true;
    this.#controller?.pause();
  }

  goOn(): void {
    this.isHeld = false;
    if (!this.#isPaused) this.#controller?.resume();
  }

  get source(): string {
    return this.#host.name;
  }

  get isStream(): boolean {
    return this.load === 'stream';
  }

  get free(): number | undefined {
    return this.isStream ? FREE_OF_STREAM : undefined;
  }

  giveUp(): void {
    this.expire();
  }

  awaitsClient(): boolean {
    return this.call.sink.awaitsClient?.() ?? false;
  }

  fail(failure: CallFailure): void {
    if (this.#over) return;
    const isAnswered = this.#reader instanceof EventAnswer && this.#reader.isAnswered;
    this.#finish(failure, isAnswered);
    if (isAnswered) this.call.sink.close(true);
    else this.call.sink.fail(failure);
  }

  isAt(host: ExchangeHost): boolean {
    return this.#host === host;
  }

  get isOver(): boolean {
    return this.#over;
  }

  get maxResponseBytes(): number {
    return this.#host.maxResponseBytes;
  }

  keep(bytes: number): void {
    if (!this.#over) this.#host.bufferedBytes.tell(this, bytes);
  }

  finish(): void {
    this.#finish(undefined);
  }

  refuse(): void {
    if (this.status === 401 && this.#host.renewCredential(this)) return;
    this.fail(this.#host.refusal(this, this.status));
  }

  fault(reason: BodyFault, cause?: unknown): void {
    this.fail(callFailure(this.#host.name, reason, true, cause));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sent = true;
    if (this.#over) controller.abort(new Error('given up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#over || status < 200) return;
    this.status = status;
    const sessionId = headers['mcp-session-id'];
    this.sessionId = typeof sessionId === 'string' ? sessionId : undefined;
    this.#mode = this.#chooseMode(status, headers['content-type'] ?? '');
    if (Number(headers['content-length'] ?? 0) > this.maxResponseBytes) {
      this.fault('too_large');
      return;
    }
    if (this.#mode === 'json') this.#reader = new JsonAnswer(this);
    if (this.#mode === 'stream') this.#openStream();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    // A stream may carry keep-alives for ever, so its reader decides which bytes count as progress.
    if (this.#mode !== 'stream') this.showedLife = true;
    if (this.#reader) {
      this.#reader.push(chunk);
      return;
    }
    this.#discarded += chunk.length;
    if (this.#discarded > this.maxResponseBytes) this.fault('too_large');
  }

  onResponseEnd(): void {
    if (this.#over) return;
    if (this.#reader) this.#reader.end();
    else if (this.#mode === 'accepted') this.#endAccepted();
    else this.refuse();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    if (this.#mode === 'stream') {
      this.#endBrokenStream(error);
      return;
    }
    if (this.#mode === 'waiting' && this.#host.resend(this, this.#sent)) return;
    this.fail(this.#host.broken(this, this.#sent, error));
  }

  #chooseMode(status: number, contentType: string): Mode {
    if (status === 401) return 'discard';
    if (this.call.idText === undefined && this.call.verb !== 'GET') return status < 300 ? 'accepted' : 'discard';
    if (status === 200 && contentType.startsWith('text/event-stream')) return 'stream';
    return contentType.startsWith('application/json') && this.call.idText !== undefined ? 'json' : 'discard';
  }

  #openStream(): void {
    this.#reader = new EventAnswer(this);
    this.call.sink.open(this, this.sessionId);
  }

  /** The client may resume a broken stream if its events have ids. */
  #endBrokenStream(error: Error): void {
    const isAnswered = this.#reader instanceof EventAnswer && this.#reader.isAnswered;
    const isBroken = !isAnswered && this.call.idText !== undefined;
    this.#finish(isBroken ? this.#host.broken(this, true, error) : undefined);
    this.call.sink.close(isAnswered, isBroken);
  }

  #endAccepted(): void {
    this.#finish(undefined);
    this.call.sink.accepted();
  }

  /** `isAnswered`: the gateway cuts a stream that continues after its answer, which is no failure. */
  #finish(failure: CallFailure | undefined, isAnswered = false): void {
    if (this.#over) return;
    this.#over = true;
    this.#host.deadlines.delete(this);
    this.#host.bufferedBytes.tell(this, 0);
    this.#host.settled(this, isAnswered ? undefined : failure);
    if (failure && this.#controller && !this.#controller.aborted) this.#controller.abort(failure.error);
  }

  reset(): void {
    this.keep(0);
    this.#mode = 'waiting';
    this.#reader = undefined;
    this.#discarded = 0;
  }
}
