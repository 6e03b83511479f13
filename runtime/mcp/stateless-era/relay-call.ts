import { answerJson, ClientDocument, ClientStream } from '#runtime/mcp/relay/client-stream';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import type { RequestError } from '#runtime/errors';
import { noteAnswer, noteRpcAnswer, noteRpcError } from '#runtime/note-trail';
import { kindsOfNotification } from '../aggregate/list-kinds.ts';
import type { AnswerSink, Backend, CallFailure, Flow, RunningCall, StreamEvent } from '../backends/backend.ts';
import { callFailure } from '../backends/failures.ts';
import { callDeadline } from '../session-era/session-request.ts';
import type { StatelessRequest } from './stateless-request.ts';

export interface StatelessCall {
  readonly backend: Backend;
  readonly body: Buffer;
  /** Flat list. */
  readonly headers: string[];
  readonly idempotent: boolean;
}

/** Sends a request to one backend and its answer to the client, as it comes. Settles when the answer is out. */
export function relayCall(request: StatelessRequest, call: StatelessCall): Promise<void> {
  return new Promise((resolve, reject) => new StatelessRelay(request, call, resolve, reject).start());
}

class StatelessRelay implements AnswerSink {
  readonly #request: StatelessRequest;
  readonly #call: StatelessCall;
  readonly #resolve: () => void;
  readonly #reject: (error: RequestError) => void;
  #stream: ClientStream | undefined;
  #document: ClientDocument | undefined;
  #flow: Flow | undefined;
  #running: RunningCall | undefined;
  #isOver = false;

  constructor(
    request: StatelessRequest,
    call: StatelessCall,
    resolve: () => void,
    reject: (error: RequestError) => void,
  ) {
    this.#request = request;
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { message, identity, rooms, res } = this.#request;
    const { backend, body, headers, idempotent } = this.#call;
    // Left in place when it is over: taking it off costs more than one call that does nothing.
    res.on('close', () => this.#clientLeft());
    this.#running = backend.send({
      identity,
      era: 'stateless',
      method: message.method,
      idText: message.idText,
      verb: 'POST',
      body,
      headers,
      deadline: callDeadline(rooms, backend.name),
      idempotent,
      sink: this,
    });
  }

  json(status: number, body: Buffer): void {
    const { res, trail, rooms } = this.#request;
    if (rooms.config.audit_config.includeResponseData) trail.answer = body.toString('utf8');
    // Only what the revision gives a meaning: a backend's 403 would send the client to log in again here, some hang on a 5xx.
    trail.status = status === 400 || status === 404 ? status : 200;
    noteRpcAnswer(trail, body);
    answerJson(res, trail.status, body);
    this.#over();
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
  }

  accepted(): void {
    this.fail(callFailure(this.#call.backend.name, 'protocol', true));
  }

  open(flow: Flow): void {
    this.#flow = flow;
    this.#stream = new ClientStream(this.#request.res);
    this.#stream.open();
  }

  event({ data, message }: StreamEvent): void {
    // This revision has no requests from the server, and event ids mean nothing.
    if (!message || message.kind === 'request') return;
    const { rooms, trail } = this.#request;
    const kinds = message.kind === 'notification' ? kindsOfNotification(message.method ?? '') : [];
    if (kinds.length > 0) {
      rooms.announcer.listChanged(this.#call.backend.name, kinds);
      return;
    }
    if (message.kind === 'response') {
      if (!message.hasResult) noteRpcError(trail);
      if (rooms.config.audit_config.includeResponseData) trail.answer = data;
    }
    this.#stream?.write(writeSse({ event: 'message', data: message.cleanText(data) }), this.#flow);
  }

  close(complete: boolean): void {
    if (!complete) {
      this.fail(callFailure(this.#call.backend.name, 'protocol', true));
      return;
    }
    this.#stream?.end();
    this.#over();
  }

  fail(failure: CallFailure): void {
    const { message, rooms, trail } = this.#request;
    if (failure.reason === 'unavailable') rooms.backends.watch(this.#call.backend.name)?.nudge();
    this.#document?.cut();
    if (!this.#stream) {
      this.#reject(failure.error);
      return;
    }
    noteAnswer(trail, failure.error.answer, failure.error);
    const { text, rpc } = failure.error.answer;
    const error = JSON.stringify({ code: rpc?.code ?? -32603, message: text, data: rpc?.data });
    this.#stream.write(
      writeSse({ event: 'message', data: `{"jsonrpc":"2.0","id":${message.idText},"error":${error}}` }),
    );
    this.#stream.end();
    this.#resolve();
  }

  /** Closing the stream is how this revision cancels a request. */
  #clientLeft(): void {
    if (this.#isOver) return;
    this.#running?.abort();
    this.#resolve();
  }

  #over(): void {
    this.#isOver = true;
    this.#resolve();
  }
}
