import { kindsOfNotification } from '#runtime/mcp/aggregate/list-kinds';
import type { BackendCall, Flow, RunningCall } from '#runtime/mcp/backends/backend';
import type { CallFailure } from '#runtime/mcp/backends/failures';
import {
  decodeBackendMessage,
  type AnswerKind,
  type BackendMessage,
} from '#runtime/mcp/envelope/decode-backend-message';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { spliceText } from '#runtime/mcp/envelope/splice';
import type { Spans } from '#runtime/mcp/envelope/scan-envelope';
import { isLogged } from '../../log-levels.ts';
import { readModernMessage, type ModernMessage } from './modern-message.ts';
import { toModernAnswer, type Asked, type ModernAnswer } from './to-modern-answer.ts';

/** The outcome of a call at the backend. */
export type Outcome =
  | { readonly body: Buffer; readonly kind: AnswerKind; readonly spans: Spans | undefined }
  | { readonly failure: CallFailure }
  | { readonly render: (idText: string) => ModernAnswer };

export interface RequestHost extends Flow {
  readonly isHeld: boolean;
  /** The client closed its stream before it got an answer. */
  left(request: PendingRequest): void;
}

/** One request of a modern client that waits for an answer. A call with input has several, one after the other. */
export class PendingRequest implements RunningCall {
  readonly call: BackendCall;
  readonly message: ModernMessage;
  /** Name of the backend. */
  readonly backend: string;
  #host: RequestHost | undefined;
  #isStreaming = false;
  #isOver = false;

  constructor(call: BackendCall, backend: string) {
    this.call = call;
    this.backend = backend;
    this.message = readModernMessage(call.body ?? Buffer.alloc(0));
  }

  /** Set once. */
  set host(host: RequestHost) {
    this.#host = host;
  }

  get isHeld(): boolean {
    return this.#host?.isHeld ?? false;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host?.left(this);
  }

  /** Sends a progress report or a log message if the client asked for it. `data` is clean. */
  notify(message: BackendMessage, data: string): void {
    if (this.#isOver) return;
    const text = this.#forClient(message, data);
    if (text !== undefined) this.relay(text);
  }

  /** Sends a notification as it is. */
  relay(text: string): void {
    if (this.#isOver) return;
    if (!this.#isStreaming) {
      this.#isStreaming = true;
      this.call.sink.open({ pause: () => this.#host?.pause(), resume: () => this.#host?.resume() }, undefined);
    }
    this.#emit(text);
  }

  deliver(outcome: Outcome): void {
    if (this.#isOver) return;
    if ('failure' in outcome) {
      this.#isOver = true;
      this.call.sink.fail(outcome.failure);
    } else if ('render' in outcome) this.answer(outcome.render(this.#asked.idText));
    else this.answer(toModernAnswer(outcome.body, outcome.kind, this.#asked, outcome.spans));
  }

  answer({ status, body, kind }: ModernAnswer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { sink } = this.call;
    if (!this.#isStreaming) {
      sink.json(status, body, kind, undefined);
      return;
    }
    this.#emit(body.toString('utf8'));
    sink.close(true);
  }

  get #asked(): Asked {
    const { method, idText = 'null' } = this.call;
    return { method, idText, message: this.message };
  }

  /** Returns the notification with the client's own progress token. Undefined: the client did not ask for it. */
  #forClient({ method = '' }: BackendMessage, data: string): string | undefined {
    if (kindsOfNotification(method).length > 0) return data;
    const { progressToken, logLevel } = this.message;
    // The positions are those of clean data.
    const spans = decodeBackendMessage(data)?.spans;
    if (method === PROGRESS) {
      const token = spans?.['params.progressToken'];
      return token && progressToken !== undefined ? spliceText(data, [{ ...token, text: progressToken }]) : undefined;
    }
    const level = spans?.['params.level'];
    return level && isLogged(JSON.parse(data.slice(level.start, level.end)), logLevel) ? data : undefined;
  }

  #emit(data: string): void {
    this.call.sink.event({ id: undefined, retry: undefined, data, message: decodeBackendMessage(data) });
  }
}
