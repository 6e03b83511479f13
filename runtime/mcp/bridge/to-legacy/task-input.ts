import type { Identity } from '#runtime/incoming/identity';
import type { AnswerSink, Backend, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { JsonObject } from '#runtime/mcp/envelope/decode-request';
import { paramsOf, relatedTask } from '../members-of.ts';
import { InputRound, isAnswerable, refuseRequest, type AskingSession } from './input-round.ts';

/** Milliseconds for the backend to send its requests on a new stream. */
const FIRST = 1_000;
/** Milliseconds in which requests that a backend sends one after the other become one round. */
const GATHER = 15;
const MAX_ASKED = 100;

/** The session of the task. */
interface TaskInputSession extends AskingSession {
  readonly identity: Identity;
  readonly headers: string[];
  readonly target: { readonly address?: string | undefined };
  mintId(): string;
  /** Takes a message that belongs to another call. */
  take(event: StreamEvent): void;
}

interface TaskInputOptions {
  readonly backend: Backend;
  readonly session: TaskInputSession;
  /** The backend's own id of the task. */
  readonly taskId: string;
  /** Milliseconds. */
  readonly maximum: number;
  /** The stream is over. */
  readonly ended: () => void;
}

/** Keeps `tasks/result` of one task open: a legacy backend sends its requests for input on this stream. */
export class TaskInput implements AnswerSink {
  readonly #options: TaskInputOptions;
  readonly #round = new InputRound();
  readonly #running: RunningCall;
  readonly #timer: NodeJS.Timeout;
  #tell: (() => void) | undefined;
  #isOver = false;
  /** Settles once the backend has asked, or soon. */
  readonly asked: Promise<void>;

  constructor(options: TaskInputOptions) {
    this.#options = options;
    this.asked = new Promise((resolve) => {
      this.#tell = resolve;
    });
    this.#timer = setTimeout(() => this.#tell?.(), FIRST).unref();
    const { backend, session, taskId, maximum } = options;
    const idText = session.mintId();
    const request = { jsonrpc: '2.0', id: Number(idText), method: 'tasks/result', params: { taskId } };
    this.#running = backend.send({
      identity: session.identity,
      era: 'legacy',
      method: 'tasks/result',
      idText,
      verb: 'POST',
      body: Buffer.from(JSON.stringify(request)),
      headers: session.headers,
      address: session.target.address,
      deadline: maximum,
      maximum,
      idempotent: true,
      mayPark: true,
      sink: this,
    });
    this.#running.park?.(true);
  }

  get requests(): JsonObject {
    return this.#round.requests;
  }

  get hasRequests(): boolean {
    return this.#round.size > 0;
  }

  /** Sends the client's answers to the backend. */
  answer(responses: JsonObject): void {
    this.#round.answer(responses, this.#options.session);
  }

  /** Takes a request of the backend for this task. `data` is clean. */
  ask(message: BackendMessage, data: string): void {
    const { session } = this.#options;
    const isTaken = isAnswerable(message, session) && this.#round.size < MAX_ASKED;
    if (isTaken) this.#round.add(message.method ?? '', data);
    else refuseRequest(message, session);
    if (isTaken) setTimeout(() => this.#tell?.(), GATHER).unref();
  }

  withdraw(id: unknown): void {
    this.#round.withdraw(id);
  }

  close(): void {
    this.#end('The task is over');
    this.#running.abort();
  }

  event(event: StreamEvent): void {
    const { message, data } = event;
    if (!message || this.#isOver) return;
    const { backend, session, taskId } = this.#options;
    // A channel sends the requests of all calls on the newest one.
    const isOwn = backend.config.transport === 'streamable-http' || relatedTask(data) === taskId;
    if (message.kind === 'response') this.#end('The task has ended');
    else if (!isOwn) session.take(event);
    else if (message.kind === 'request') this.ask(message, message.cleanText(data));
    else if (message.method === 'notifications/cancelled') this.withdraw(paramsOf(data).requestId);
  }

  awaitsClient(): boolean {
    return true;
  }

  open(): void {
    // The stream is slow, and the requests on it are few.
  }

  json(): void {
    this.#end('The task has ended');
  }

  accepted(): void {
    this.#end('The backend accepted the request without an answer');
  }

  fail(): void {
    this.#end('The stream of the task broke');
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#tell?.();
    this.#round.end(this.#options.session, reason);
    this.#options.ended();
  }
}
