import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { TraceFlags } from '@opentelemetry/api';
import type { SpanCounts } from '#runtime/telemetry/span-counts';
import type { SpanSender } from './span-sender.ts';

interface QueueSettings {
  readonly sender: Pick<SpanSender, 'send' | 'close'>;
  readonly counts: SpanCounts;
}

const MAX_WAITING = 2_048;
const BATCH = 512;
/** Milliseconds in which a batch gathers spans. */
const GATHER = 1_000;

/** Queue of outgoing spans. It sends one batch at a time, and drops spans if the collector is too slow. */
export class SpanQueue implements SpanProcessor {
  readonly #settings: QueueSettings;
  #waiting: ReadableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;

  constructor(settings: QueueSettings) {
    this.#settings = settings;
  }

  onStart(): void {
    // Only finished spans are sent.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING) {
      this.#settings.counts.dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH) void this.#send();
    else this.#timer ??= setTimeout(() => void this.#send(), GATHER).unref();
  }

  /** Settles when all waiting spans are sent or dropped. */
  async forceFlush(): Promise<void> {
    await this.#sending;
    await this.#send();
  }

  /** Closes the queue and drops the waiting spans. */
  async shutdown(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#settings.counts.dropped += this.#waiting.length;
    this.#waiting = [];
    await this.#settings.sender.close();
  }

  /** Sends one batch after the other. Calls made meanwhile share the same promise. */
  #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    }));
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      const taken = await this.#settings.sender.send(batch);
      this.#settings.counts.exported += taken;
      this.#settings.counts.dropped += batch.length - taken;
    }
  }
}
