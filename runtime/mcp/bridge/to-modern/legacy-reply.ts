import type { BackendCall, Flow } from '#runtime/mcp/backends/backend';
import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { wantsLevel } from './caller-meta.ts';
import type { LegacyAnswer } from './legacy-answer.ts';
import { paramsOf } from '../members-of.ts';

/** Answers a request of a legacy client: one document, or a stream once a message comes before the answer. */
export class LegacyReply {
  readonly #call: BackendCall;
  readonly #flow: Flow;
  #isOpen = false;
  #progress = -Infinity;

  constructor(call: BackendCall, flow: Flow) {
    this.#call = call;
    this.#flow = flow;
  }

  /** The last progress that the client got. */
  get progress(): number {
    return this.#progress;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#call.sink.open(this.#flow, undefined);
  }

  write(data: string, message = decodeBackendMessage(data)): void {
    if (!message) return;
    this.open();
    this.#call.sink.event({ id: undefined, retry: undefined, data, message });
  }

  /** Passes a notification of the backend on if the client wants it. `isLater`: it comes from a later round of the call. */
  notify(data: string, message: BackendMessage, isLater: boolean): void {
    const { method, spans } = message;
    if (method === 'notifications/message') {
      const level = spans['params.level'];
      const isWanted = wantsLevel(this.#call.session, level && JSON.parse(data.slice(level.start, level.end)));
      if (isWanted) this.write(data, message);
    } else if (method === PROGRESS) this.#report(data, message, isLater);
    else this.write(data, message);
  }

  /** Each round begins at 0 again, but the progress of one token only rises. */
  #report(data: string, message: BackendMessage, isLater: boolean): void {
    const { progress } = paramsOf(data);
    if (isLater && !(typeof progress === 'number' && progress > this.#progress)) return;
    this.#progress = Math.max(this.#progress, Number(progress));
    this.write(data, message);
  }

  /** `decoded`: the message, if it is known. */
  finish({ text, kind }: LegacyAnswer, decoded: BackendMessage | undefined = decodeBackendMessage(text)): void {
    if (this.#isOpen) {
      this.#call.sink.event({ id: undefined, retry: undefined, data: text, message: decoded });
      this.#call.sink.close(true);
    } else this.#call.sink.json(200, Buffer.from(decoded?.cleanText(text) ?? text), kind, undefined);
  }
}
