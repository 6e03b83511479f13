import type { LargeData, SseEvent } from '#runtime/mcp/sse/parse-sse';
import { LargeAnswer, NotTheAnswer } from './large-answer.ts';
import type { ReadExchange } from './read-answer.ts';

type Fields = Pick<SseEvent, 'id' | 'retry'>;

interface LargeEventSettings {
  readonly exchange: ReadExchange;
  /** A second response is dropped. */
  readonly isAnswered: () => boolean;
  readonly answered: () => void;
  readonly onEvent: (fields: Fields, data: string) => void;
}

/** The response goes to a sink that accepts parts. Other events are buffered, by the sink if it supports this. */
export class LargeEvent implements LargeData {
  readonly #settings: LargeEventSettings;
  #reader: LargeData | undefined;

  constructor(settings: LargeEventSettings) {
    this.#settings = settings;
  }

  push(bytes: Buffer): void {
    if (this.#settings.exchange.isOver) return;
    if (this.#reader) this.#reader.push(bytes);
    else this.#begin(bytes);
  }

  end(fields: Fields): void {
    if (!this.#settings.exchange.isOver) this.#reader?.end(fields);
  }

  #begin(head: Buffer): void {
    const { exchange, isAnswered, answered } = this.#settings;
    const { resumes, idText = resumes, sink } = exchange.call;
    if (!sink.part || !sink.ended || idText === undefined) {
      this.#keep(head);
      return;
    }
    const answer = new LargeAnswer(idText);
    try {
      const passed = answer.push(head);
      if (!answer.hasOutcome) {
        this.#keep(head);
      } else if (isAnswered()) {
        this.#reader = DROPPED;
      } else {
        this.#reader = new PassedAnswer(exchange, answer, answered);
        sink.part(passed, exchange);
      }
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      // The event answers another request or is no message.
      this.#reader = DROPPED;
    }
  }

  #keep(head: Buffer): void {
    const { exchange, onEvent } = this.#settings;
    this.#reader = new BufferedEvent(exchange, onEvent);
    this.#reader.push(head);
  }
}

const DROPPED: LargeData = { push: () => undefined, end: () => undefined };

class PassedAnswer implements LargeData {
  readonly #exchange: ReadExchange;
  readonly #answer: LargeAnswer;
  readonly #answered: () => void;

  constructor(exchange: ReadExchange, answer: LargeAnswer, answered: () => void) {
    this.#exchange = exchange;
    this.#answer = answer;
    this.#answered = answered;
  }

  push(bytes: Buffer): void {
    const exchange = this.#exchange;
    exchange.showedLife = true;
    this.#try(() => exchange.call.sink.part?.(this.#answer.push(bytes), exchange));
  }

  end(fields: Fields): void {
    this.#try(() => {
      const kind = this.#answer.end();
      this.#answered();
      this.#exchange.call.sink.ended?.(kind, fields);
    });
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof NotTheAnswer)) throw error;
      this.#exchange.fault('protocol', error);
    }
  }
}

class BufferedEvent implements LargeData {
  readonly #exchange: ReadExchange;
  readonly #onEvent: LargeEventSettings['onEvent'];
  readonly #taker: LargeData | undefined;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(exchange: ReadExchange, onEvent: LargeEventSettings['onEvent']) {
    this.#exchange = exchange;
    this.#onEvent = onEvent;
    this.#taker = exchange.call.sink.large?.();
  }

  push(bytes: Buffer): void {
    if (this.#taker) this.#taker.push(bytes);
    else this.#parts.push(bytes);
    this.#size += bytes.length;
    this.#exchange.showedLife = true;
    this.#exchange.keep(this.#size);
  }

  end(fields: Fields): void {
    if (this.#taker) {
      this.#taker.end(fields);
    } else {
      const data = Buffer.concat(this.#parts).toString('utf8');
      this.#parts = [];
      this.#onEvent(fields, data);
    }
    this.#exchange.keep(0);
  }
}
