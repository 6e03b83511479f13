import { describe, expect, it } from '@jest/globals';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { Agent } from 'undici';
import { SpanSender } from './span-sender.ts';

/** Starts a sender for a collector that does not exist. */
function start() {
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  const settings = { url: 'http://127.0.0.1:1/v1/traces', headers: () => ({}), dispatcher: new Agent() };
  return { told, sender: new SpanSender({ ...settings, log: { warn: tell, info: tell } }) };
}

describe('SpanSender with spans that cannot be sent', () => {
  it('drops spans that cannot be serialised, and fails nothing else', async () => {
    const { told, sender } = start();
    const broken = { spanContext: 'none' } as Partial<Record<keyof ReadableSpan, unknown>> as ReadableSpan;
    expect(await sender.send([broken])).toBe(0);
    expect(told).toEqual(['spans are lost: the collector does not take them']);
    await sender.close();
  });

  it('drops the spans at once and logs nothing when it is closed', async () => {
    const { told, sender } = start();
    await sender.close();
    const startedAt = performance.now();
    expect(await sender.send([])).toBe(0);
    // Retries would take 3.5 s.
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(told).toEqual([]);
  });
});
