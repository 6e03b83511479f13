import { answerJson, ClientDocument, ClientStream } from '#runtime/mcp/relay/client-stream';
import { noteAnswer, noteRpcAnswer, noteRpcError } from '#runtime/note-trail';
import type { AnswerSink, Backend, CallFailure, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { NoAnswer } from '../backends/ask.ts';
import { callFailure } from '../backends/failures.ts';
import { dropLeg, ensureLeg, legHeaders } from '../sessions/open-leg.ts';
import type { Leg } from '../sessions/session.ts';
import { relayedEvent } from './relayed-event.ts';
import { callDeadline, type SessionRequest } from './session-request.ts';

const MAX_IN_FLIGHT = 1_000;

export interface RelayedCall {
  readonly backend: Backend;
  /** The message for the backend: the client's bytes, or those with the name replaced. */
  readonly body: Buffer;
  readonly idempotent: boolean;
  readonly passthrough: readonly string[];
}

/** Sends a client's request to one backend and its answer to the client, as it comes. Settles when the answer is out. */
export function relayCall(request: SessionRequest, call: RelayedCall): Promise<void> {
  return new Promise((resolve, reject) => new SessionRelay(request, call, resolve, reject).start());
}

class SessionRelay implements AnswerSink {
  readonly #request: SessionRequest;
  readonly #call: RelayedCall;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #stream: ClientStream | undefined;
  #document: ClientDocument | undefined;
  #flow: Flow | undefined;
  #running: RunningCall | undefined;
  #leg: Leg | undefined;
  #reopened = false;
  #resumable = false;
  #isOver = false;

  constructor(request: SessionRequest, call: RelayedCall, resolve: () => void, reject: (error: unknown) => void) {
    this.#request = request;
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { session, message, res } = this.#request;
    session.calls++;
    const inFlight = (session.inFlight ??= new Map());
    if (inFlight.size < MAX_IN_FLIGHT) inFlight.set(message.idText, this.#call.backend.name);
    // Left in place when it is over: taking it off costs more than one call that does nothing.
    res.on('close', () => this.#clientLeft());
    this.#withLeg();
  }

  json(_status: number, body: Buffer): void {
    // Some clients hang on an HTTP error to a POST: whatever a backend answers in JSON-RPC goes out at 200.
    const { res, trail, rooms } = this.#request;
    if (rooms.config.audit_config.includeResponseData) trail.answer = body.toString('utf8');
    noteRpcAnswer(trail, body);
    answerJson(res, 200, body);
    this.#over();
    this.#resolve();
  }

  part(bytes: readonly Buffer[], flow: Flow): void {
    const { res, trail, rooms } = this.#request;
    // Of what is not kept the audit log says that it is cut.
    if (rooms.config.audit_config.includeResponseData) trail.answer = '';
    this.#document ??= new ClientDocument(res);
    this.#document.write(bytes, flow);
  }

  ended(): void {
    this.#document?.end();
    this.#over();
    this.#resolve();
  }

  accepted(): void {
    this.fail(callFailure(this.#call.backend.name, 'protocol', true));
  }

  open(flow: Flow): void {
    this.#flow = flow;
    this.#stream = new ClientStream(this.#request.res);
    this.#stream.open();
  }

  event(event: StreamEvent): void {
    const { session, rooms, trail } = this.#request;
    rooms.sessions.touch(session);
    if (event.id !== undefined) this.#resumable = true;
    if (event.message?.kind === 'response') {
      if (!event.message.hasResult) noteRpcError(trail);
      if (rooms.config.audit_config.includeResponseData) trail.answer = event.data;
    }
    const text = relayedEvent(event, { backend: this.#call.backend, stream: 'call', rooms, session });
    if (text !== undefined) this.#stream?.write(text, this.#flow);
  }

  close(complete: boolean): void {
    // A stream that the backend closed before its answer is resumed by the client, from the last event that has an id: the
    // request stays in flight. Without an id nothing more can come.
    if (!complete && !this.#resumable) {
      this.fail(callFailure(this.#call.backend.name, 'protocol', true));
      return;
    }
    this.#stream?.end();
    this.#over(complete);
    this.#resolve();
  }

  fail(failure: CallFailure): void {
    if (failure.reason === 'session_lost' && !this.#reopened) {
      this.#reopen();
      return;
    }
    if (failure.reason === 'unavailable') this.#request.rooms.backends.watch(this.#call.backend.name)?.nudge();
    this.#over();
    if (this.#document) {
      this.#document.cut();
      this.#reject(failure.error);
    } else if (this.#stream) {
      noteAnswer(this.#request.trail, failure.error.answer, failure.error);
      this.#stream.write(`event: message\ndata: ${errorText(failure, this.#request.message.idText)}\n\n`);
      this.#stream.end();
      this.#resolve();
    } else {
      this.#reject(failure.error);
    }
  }

  #withLeg(): void {
    const { session, identity, rooms } = this.#request;
    const leg = ensureLeg(session, this.#call.backend, identity, rooms);
    if (leg instanceof Promise) {
      leg.then(
        (opened) => this.#send(opened),
        (error: unknown) => this.#refuse(error),
      );
    } else {
      this.#send(leg);
    }
  }

  #send(leg: Leg): void {
    // The client has left while it was opened: nobody would take the answer.
    if (this.#isOver) return;
    this.#leg = leg;
    const { message, identity, rooms } = this.#request;
    const { backend, body, idempotent, passthrough } = this.#call;
    this.#running = backend.send({
      identity,
      era: 'session',
      method: message.method,
      idText: message.idText,
      verb: 'POST',
      body,
      headers: passthrough.length === 0 ? legHeaders(leg) : legHeaders(leg).concat(passthrough),
      deadline: callDeadline(rooms, backend.name),
      idempotent,
      sink: this,
    });
  }

  /** The backend has forgotten the session: a 404 executed nothing, so a new one is opened and the call sent again. */
  #reopen(): void {
    this.#reopened = true;
    // Another call may have opened a new one meanwhile.
    if (this.#leg) dropLeg(this.#request.session, this.#leg);
    this.#withLeg();
  }

  #refuse(error: unknown): void {
    this.#over();
    this.#reject(error instanceof NoAnswer ? error.failure.error : error);
  }

  /** The connection is closed: after the answer, as ever, or before it. */
  #clientLeft(): void {
    if (this.#isOver) return;
    // Not a cancellation (2025-11-25 transports): what comes later is fetched by resuming, if the backend can.
    this.#running?.abort();
    this.#over(!this.#resumable);
    this.#resolve();
  }

  #over(answered = true): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { session, message, rooms } = this.#request;
    session.calls--;
    rooms.sessions.touch(session);
    if (answered && session.inFlight) {
      session.inFlight.delete(message.idText);
      if (session.inFlight.size === 0) session.inFlight = undefined;
    }
  }
}

function errorText(failure: CallFailure, idText: string): string {
  const { text, rpc } = failure.error.answer;
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify({ code: rpc?.code ?? -32603, message: text, data: rpc?.data })}}`;
}
