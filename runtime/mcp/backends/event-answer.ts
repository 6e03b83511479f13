import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { createSseParser, type SseEvent, type SseParser } from '#runtime/mcp/sse/parse-sse';
import { LargeEvent } from './large-event.ts';
import type { AnswerReader, ReadExchange } from './read-answer.ts';

/** Reads an answer that is a stream of events. */
export class EventAnswer implements AnswerReader {
  readonly #exchange: ReadExchange;
  readonly #parser: SseParser;
  #isAnswered = false;

  constructor(exchange: ReadExchange) {
    this.#exchange = exchange;
    this.#parser = createSseParser({
      maxEventBytes: exchange.maxResponseBytes,
      onEvent: (event) => this.#onEvent(event),
      onLarge: () => this.#largeEvent(),
    });
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  push(chunk: Buffer): void {
    const exchange = this.#exchange;
    // A complete event may wait for its reader. Session streams are excluded: more data may never arrive there.
    const before = this.#parser.isLarge || exchange.isStream ? 0 : this.#parser.pending;
    const arrived = this.#parser.arrived;
    try {
      this.#parser.push(chunk);
      if (this.#parser.arrived > arrived) exchange.showedLife = true;
      if (!this.#parser.isLarge) exchange.keep(Math.max(before, this.#parser.pending));
    } catch (cause) {
      exchange.fault('too_large', cause);
    }
  }

  end(): void {
    this.#exchange.finish();
    this.#exchange.call.sink.close(this.#isAnswered);
  }

  #largeEvent(): LargeEvent {
    return new LargeEvent({
      exchange: this.#exchange,
      isAnswered: () => this.#isAnswered,
      answered: () => {
        this.#isAnswered = true;
      },
      onEvent: (fields, data) => this.#onEvent({ event: undefined, ...fields, data }),
    });
  }

  #onEvent(event: SseEvent): void {
    if (this.#exchange.isOver) return;
    const { call } = this.#exchange;
    const { data } = event;
    const message = data === '' ? undefined : decodeBackendMessage(data);
    if (data !== '' && message === undefined) {
      call.sink.named?.(event.event, data);
      return;
    }
    if (message) this.#exchange.showedLife = true;
    if (message?.kind === 'response' && !this.#takeAnswer(message)) return;
    call.sink.event({ id: event.id, retry: event.retry, data, message });
  }

  /** One response per request. Another id would answer another backend's request. */
  #takeAnswer({ idText }: BackendMessage): boolean {
    const { call } = this.#exchange;
    if (this.#isAnswered || (call.idText !== undefined && idText !== call.idText)) return false;
    if (call.idText !== undefined) this.#isAnswered = true;
    return true;
  }
}
