import { TraceFlags } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace';
import type { SpanCounts } from '#runtime/telemetry/span-counts';
import type { SpanSender } from './span-sender.ts';

interface QueueSettings {
  readonly sender: Pick<SpanSender, 'send' | 'close'>;
  readonly counts: SpanCounts;
}

const SIZES = { maxQueueSize: 2_048, maxExportBatchSize: 512 };
/** Milliseconds in which a batch gathers spans, and milliseconds for one export, more than the sender takes. */
const TIMES = { scheduledDelayMillis: 1_000, exportTimeoutMillis: 10_000 };

/** Queue of outgoing spans, batched by the library. It counts dropped spans, which the library does not report. */
export class SpanQueue extends BatchSpanProcessor {
  readonly #state: { readonly counts: SpanCounts; waiting: number; isClosed: boolean; sent: Promise<void> };

  constructor({ sender, counts }: QueueSettings) {
    const state = { counts, waiting: 0, isClosed: false, sent: Promise.resolve() };
    super({
      ...SIZES,
      ...TIMES,
      exporter: {
        // Reports no failure: after one, the library would send two batches at once.
        export(spans, done) {
          state.waiting -= spans.length;
          const before = state.sent;
          state.sent = (state.isClosed ? Promise.resolve(0) : sender.send(spans)).then((taken) => {
            counts.exported += taken;
            counts.dropped += spans.length - taken;
            done({ code: ExportResultCode.SUCCESS });
            return before;
          });
        },
        shutdown: () => sender.close(),
      },
    });
    this.#state = state;
  }

  override onEnd(span: ReadableSpan): void {
    const state = this.#state;
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (state.isClosed || state.waiting >= SIZES.maxQueueSize) state.counts.dropped++;
    else {
      state.waiting++;
      super.onEnd(span);
    }
  }

  /** Settles when all waiting spans are sent or dropped. The library alone ignores the batch in flight. */
  override async forceFlush(): Promise<void> {
    await super.forceFlush();
    await this.#state.sent;
  }

  /** Closes the queue and drops the waiting spans; the library alone would send them. */
  override shutdown(): Promise<void> {
    this.#state.isClosed = true;
    return super.shutdown();
  }
}
