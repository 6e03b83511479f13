import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { LargeAnswer, NotTheAnswer } from './large-answer.ts';
import type { AnswerReader, ReadExchange } from './read-answer.ts';

const KEPT_BYTES = 1_048_576;

/** Reads an answer that is one JSON document. Passes a large one in parts if the sink accepts parts. */
export class JsonAnswer implements AnswerReader {
  readonly #exchange: ReadExchange;
  #chunks: Buffer[] = [];
  #size = 0;
  #large: LargeAnswer | undefined;

  constructor(exchange: ReadExchange) {
    this.#exchange = exchange;
  }

  push(chunk: Buffer): void {
    const exchange = this.#exchange;
    this.#size += chunk.length;
    if (this.#size > exchange.maxResponseBytes) exchange.fault('too_large');
    else if (this.#large) this.#pass(this.#large, [chunk]);
    else this.#collect(chunk);
  }

  end(): void {
    if (this.#large) this.#endLarge(this.#large);
    else this.#endSmall();
  }

  #collect(chunk: Buffer): void {
    const exchange = this.#exchange;
    this.#chunks.push(chunk);
    exchange.keep(this.#size);
    const { idText, sink } = exchange.call;
    if (exchange.isOver || this.#size <= KEPT_BYTES || exchange.status !== 200 || !sink.part || idText === undefined)
      return;
    const kept = this.#chunks;
    this.#chunks = [];
    exchange.keep(0);
    this.#large = new LargeAnswer(idText);
    this.#pass(this.#large, kept);
  }

  #pass(large: LargeAnswer, chunks: readonly Buffer[]): void {
    const exchange = this.#exchange;
    try {
      const passed = chunks.flatMap((chunk) => large.push(chunk));
      exchange.call.sink.part?.(passed, exchange);
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      exchange.fault('protocol', error);
    }
  }

  #endLarge(large: LargeAnswer): void {
    const exchange = this.#exchange;
    try {
      const kind = large.end();
      exchange.finish();
      exchange.call.sink.ended?.(kind);
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      exchange.fault('protocol', error);
    }
  }

  #endSmall(): void {
    const exchange = this.#exchange;
    const { call, status, sessionId } = exchange;
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    const message = decodeBackendMessage(body);
    if (message?.kind !== 'response' || message.idText !== call.idText) {
      // For an unknown session, a backend answers 404 and an error without the id of the request.
      if (status >= 400) exchange.refuse();
      else exchange.fault('protocol');
      return;
    }
    if (status === 404 && call.era === 'legacy') {
      exchange.refuse();
      return;
    }
    exchange.finish();
    const spans = message.hasReservedMeta ? undefined : message.spans;
    call.sink.json(status, message.clean(body), message.answerKind, sessionId, spans);
  }
}
