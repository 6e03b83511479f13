import { describe, expect, it } from '@jest/globals';
import { TraceFlags } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { SpanQueue } from './span-queue.ts';

function span(traceFlags: number = TraceFlags.SAMPLED): ReadableSpan {
  const context = { traceId: '1', spanId: '2', traceFlags };
  return { spanContext: () => context, resource: resourceFromAttributes({}) } as Partial<ReadableSpan> as ReadableSpan;
}

/** Starts a queue with a sender whose exports the test answers. */
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

describe('SpanQueue', () => {
  it('sends one batch at a time, and drops and counts spans over the limit', async () => {
    const { batches, counts, queue, end, settle } = start();
    end(512);
    expect(batches.map(({ size }) => size)).toEqual([512]);
    // Without an answer, further spans wait, up to a limit.
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

  it('counts spans that the collector refuses, and sends the next ones', async () => {
    const { batches, counts, end, settle } = start();
    end(512);
    batches[0]!.answer(0);
    await settle();
    end(512);
    batches[1]!.answer(500);
    await settle();
    expect(counts).toEqual({ exported: 500, dropped: 524 });
  });

  it('sends spans on flush; at shutdown it drops waiting spans and accepts no more', async () => {
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

  it('sends one batch at a time also after a refusal', async () => {
    const { batches, end, settle } = start();
    end(2 * 512);
    batches[0]!.answer(0);
    await settle();
    end(512);
    expect(batches).toHaveLength(2);
    batches[1]!.answer(512);
    await settle();
    batches[2]!.answer(512);
  });

  it('waits on flush for a batch that is being sent', async () => {
    const { batches, queue, end, settle } = start();
    end(512);
    let isDone = false;
    const flushed = queue.forceFlush().then(() => void (isDone = true));
    await settle();
    expect(isDone).toBe(false);
    batches[0]!.answer(512);
    await flushed;
  });

  it('does not send unsampled spans', async () => {
    const { batches, counts, queue } = start();
    for (let i = 0; i < 1_000; i++) queue.onEnd(span(TraceFlags.NONE));
    await queue.forceFlush();
    expect([batches.length, counts.dropped]).toEqual([0, 0]);
  });
});
