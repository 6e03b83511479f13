import { describe, expect, it } from '@jest/globals';
import { TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { SpanQueue } from './span-queue.ts';

function span(traceFlags: number = TraceFlags.SAMPLED): ReadableSpan {
  const context = { traceId: '1', spanId: '2', traceFlags };
  return { spanContext: () => context } as Partial<ReadableSpan> as ReadableSpan;
}

/** A sender whose exports are answered by the test. */
function start() {
  const batches: { size: number; answer: (taken: number) => void }[] = [];
  const state = { isShut: false };
  const sender = {
    send: ({ length: size }: ReadableSpan[]) =>
      new Promise<number>((resolve) => void batches.push({ size, answer: resolve })),
    close: () => Promise.resolve(void (state.isShut = true)),
  };
  const counts = { exported: 0, dropped: 0 };
  const queue = new SpanQueue({ sender, counts });
  const end = (count: number) => {
    for (let i = 0; i < count; i++) queue.onEnd(span());
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { batches, state, counts, queue, end, settle };
}

describe('spans on their way to a collector', () => {
  it('go a batch at a time, and are dropped and counted where there is no room', async () => {
    const { batches, counts, queue, end, settle } = start();
    end(512);
    expect(batches.map(({ size }) => size)).toEqual([512]);
    // It does not answer: what comes waits, up to a bound.
    end(2_048 + 7);
    expect(batches).toHaveLength(1);
    expect(counts).toEqual({ exported: 0, dropped: 7 });
    for (let at = 0; at < 5; at++) {
      batches[at]!.answer(512);
      await settle();
    }
    expect(batches.map(({ size }) => size)).toEqual([512, 512, 512, 512, 512]);
    expect(counts).toEqual({ exported: 2_560, dropped: 7 });
    await queue.shutdown();
  });

  it('that the collector refuses, all or some, are counted, and the next are sent', async () => {
    const { batches, counts, end, settle } = start();
    end(512);
    batches[0]!.answer(0);
    await settle();
    end(512);
    batches[1]!.answer(500);
    await settle();
    expect(counts).toEqual({ exported: 500, dropped: 524 });
  });

  it('are sent when they are asked for; at the end what is left is dropped, and nothing more comes in', async () => {
    const { batches, counts, queue, end, state } = start();
    end(3);
    const flushed = queue.forceFlush();
    await Promise.resolve();
    batches[0]!.answer(3);
    await flushed;
    expect(counts).toEqual({ exported: 3, dropped: 0 });
    end(2);
    await queue.shutdown();
    end(1);
    expect([counts, state.isShut, batches.length]).toEqual([{ exported: 3, dropped: 3 }, true, 1]);
  });

  it('that are not to be kept are not sent', async () => {
    const { batches, counts, queue } = start();
    for (let i = 0; i < 1_000; i++) queue.onEnd(span(TraceFlags.NONE));
    await queue.forceFlush();
    expect([batches.length, counts.dropped]).toEqual([0, 0]);
  });
});
