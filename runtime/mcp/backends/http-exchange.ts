import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { createSseParser, type SseEvent, type SseParser } from '#runtime/mcp/sse/parse-sse';
import type { CredentialHeaders } from '#runtime/outgoing/credential';
import type { BackendCall, CallFailure, Flow, RunningCall } from './backend.ts';
import type { Deadlines, Expiring } from './deadlines.ts';
import { callFailure } from './failures.ts';
import type { Keeper, KeptBytes } from './kept-bytes.ts';
import { LargeAnswer, NotTheAnswer } from './large-answer.ts';

/** What one exchange needs of its backend. */
export interface ExchangeHost {
  readonly name: string;
  readonly maxResponseBytes: number;
  readonly deadlines: Deadlines;
  readonly keptBytes: KeptBytes;
  /** The exchange is over; called once. `failure` is undefined when the backend answered. */
  settled(exchange: HttpExchange, failure: CallFailure | undefined): void;
  /** The backend answered 401: true when the exchange will be sent again with a new credential. */
  renewCredential(exchange: HttpExchange): boolean;
  /** What an HTTP status means that is no answer. */
  refusal(exchange: HttpExchange, status: number): CallFailure;
  /** What a connection means that could not be made, or broke. `sent`: the backend may have begun to act on the request. */
  broken(exchange: HttpExchange, sent: boolean, cause: unknown): CallFailure;
  /** The connection broke before any answer: true when the exchange is sent again on a fresh one. */
  resend(exchange: HttpExchange, sent: boolean): boolean;
}

/** What an exchange counts as while it is under way. */
export type Load = 'call' | 'stream' | 'probe';

type Mode = 'waiting' | 'json' | 'stream' | 'accepted' | 'discard';

/** An answer that is larger is passed on as it comes. */
const KEPT_BYTES = 1_048_576;

/** One request to a backend over HTTP and its answer: JSON, a stream of events, or 202. A handler of undici's dispatcher. */
export class HttpExchange implements Dispatcher.DispatchHandler, Expiring, Keeper, RunningCall, Flow {
  readonly call: BackendCall;
  /** How often it was sent. */
  attempts = 0;
  renewed = false;
  /** It must not go out on a connection that was used before. */
  needsFresh = false;
  /** Undefined: it was refused before it began. */
  load: Load | undefined;
  /** What it was authenticated with, last time. */
  credential: CredentialHeaders = [];
  readonly deadline: number;
  heard = true;
  expiresAt = Infinity;
  earlier: this | undefined;
  later: this | undefined;
  kept = 0;
  readonly #host: ExchangeHost;
  #controller: Dispatcher.DispatchController | undefined;
  #mode: Mode = 'waiting';
  #status = 0;
  #sessionId: string | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #large: LargeAnswer | undefined;
  #parser: SseParser | undefined;
  #answered = false;
  #over = false;
  #sent = false;

  constructor(host: ExchangeHost, call: BackendCall) {
    this.#host = host;
    this.call = call;
    this.deadline = call.deadline;
  }

  /** Begins, or begins again, to wait: the deadline runs from here. */
  arm(): void {
    this.attempts++;
    this.#mode = 'waiting';
    if (this.deadline > 0) this.#host.deadlines.add(this);
  }

  expire(): void {
    this.fail(callFailure(this.#host.name, 'timeout', true));
  }

  abort(): void {
    // An error is costly to make, and most calls are over when their client's connection closes.
    if (this.#over) return;
    this.#finish(callFailure(this.#host.name, 'aborted', this.#sent));
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  fail(failure: CallFailure): void {
    if (this.#over) return;
    const streaming = this.#mode === 'stream';
    this.#finish(failure);
    if (streaming && this.#answered) this.call.sink.close(true);
    else this.call.sink.fail(failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sent = true;
    if (this.#over) controller.abort(new Error('given up'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#over || status < 200) return;
    this.#status = status;
    const sessionId = headers['mcp-session-id'];
    this.#sessionId = typeof sessionId === 'string' ? sessionId : undefined;
    this.heard = true;
    this.#mode = this.#chooseMode(status, headers['content-type'] ?? '');
    if (Number(headers['content-length'] ?? 0) > this.#host.maxResponseBytes) {
      this.fail(callFailure(this.#host.name, 'too_large', true));
      return;
    }
    if (this.#mode === 'stream') this.#openStream();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.heard = true;
    if (this.#mode === 'stream') {
      this.#feed(chunk);
      return;
    }
    this.#size += chunk.length;
    if (this.#size > this.#host.maxResponseBytes) {
      this.fail(callFailure(this.#host.name, 'too_large', true));
    } else if (this.#mode === 'json') {
      this.#takeJson(chunk);
    }
  }

  onResponseEnd(): void {
    if (this.#over) return;
    if (this.#mode === 'json') this.#endJson();
    else if (this.#mode === 'stream') this.#endStream();
    else if (this.#mode === 'accepted') this.#endAccepted();
    else this.#endRefused();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    if (this.#mode === 'stream') {
      this.#endStream();
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

  #takeJson(chunk: Buffer): void {
    if (this.#large) {
      this.#pass(this.#large, chunk);
      return;
    }
    this.#chunks.push(chunk);
    this.#keep(this.#size);
    const { idText, sink } = this.call;
    if (this.#over || this.#size <= KEPT_BYTES || this.#status !== 200 || !sink.part || idText === undefined) return;
    const kept = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#keep(0);
    this.#large = new LargeAnswer(idText);
    this.#pass(this.#large, kept);
  }

  #pass(large: LargeAnswer, chunk: Buffer): void {
    try {
      this.call.sink.part?.(large.push(chunk), this);
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      this.fail(callFailure(this.#host.name, 'protocol', true, error));
    }
  }

  #endLarge(large: LargeAnswer): void {
    try {
      const kind = large.end();
      this.#finish(undefined);
      this.call.sink.ended?.(kind);
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      this.fail(callFailure(this.#host.name, 'protocol', true, error));
    }
  }

  #endJson(): void {
    if (this.#large) {
      this.#endLarge(this.#large);
      return;
    }
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    const message = decodeBackendMessage(body);
    if (message?.kind !== 'response' || message.idText !== this.call.idText) {
      // A backend says "no such session" with 404 and an error whose id is not that of the request.
      if (this.#status >= 400) this.#endRefused();
      else this.fail(callFailure(this.#host.name, 'protocol', true));
      return;
    }
    if (this.#status === 404 && this.call.era === 'session') {
      this.#endRefused();
      return;
    }
    this.#finish(undefined);
    this.call.sink.json(this.#status, message.clean(body), message.answerKind, this.#sessionId);
  }

  #openStream(): void {
    this.#parser = createSseParser({
      maxEventBytes: this.#host.maxResponseBytes,
      onEvent: (event) => this.#onEvent(event),
    });
    this.call.sink.open(this, this.#sessionId);
  }

  #feed(chunk: Buffer): void {
    const parser = this.#parser;
    if (!parser) return;
    // An event that is complete now may wait for its reader: it counts until there is more, which comes after it.
    const before = parser.pending;
    try {
      parser.push(chunk);
      this.#keep(Math.max(before, parser.pending));
    } catch (cause) {
      this.fail(callFailure(this.#host.name, 'too_large', true, cause));
    }
  }

  #keep(bytes: number): void {
    if (this.#over || this.#host.keptBytes.tell(this, bytes)) return;
    this.fail(callFailure(this.#host.name, 'busy', true));
  }

  #onEvent(event: SseEvent): void {
    if (this.#over) return;
    const { data } = event;
    const message = data === '' ? undefined : decodeBackendMessage(data);
    if (data !== '' && message === undefined) {
      this.call.sink.named?.(event.event, data);
      return;
    }
    if (message?.kind === 'response') {
      // Of one request there is one answer, and only that: another id would answer another backend's request.
      if (this.#answered || (this.call.idText !== undefined && message.idText !== this.call.idText)) return;
      if (this.call.idText !== undefined) this.#answered = true;
    }
    this.call.sink.event({ id: event.id, retry: event.retry, data, message });
  }

  #endStream(): void {
    this.#finish(undefined);
    this.call.sink.close(this.#answered);
  }

  #endAccepted(): void {
    this.#finish(undefined);
    this.call.sink.accepted();
  }

  /** An HTTP status that is no answer. */
  #endRefused(): void {
    if (this.#status === 401 && this.#host.renewCredential(this)) return;
    this.fail(this.#host.refusal(this, this.#status));
  }

  #finish(failure: CallFailure | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#host.deadlines.delete(this);
    this.#host.keptBytes.tell(this, 0);
    this.#host.settled(this, failure);
    if (failure && this.#controller && !this.#controller.aborted) this.#controller.abort(failure.error);
  }

  /** The 401 of an exchange that goes out again: what was collected is forgotten. */
  reset(): void {
    this.#mode = 'waiting';
    this.#chunks = [];
    this.#size = 0;
  }
}
