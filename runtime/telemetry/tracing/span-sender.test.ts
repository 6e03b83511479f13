import { describe, expect, it } from '@jest/globals';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { Agent } from 'undici';
import { SpanSender } from './span-sender.ts';

/** Of a collector that is not there. */
function start() {
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  const settings = { url: 'http://127.0.0.1:1/v1/traces', headers: () => ({}), dispatcher: new Agent() };
  return { told, sender: new SpanSender({ ...settings, log: { warn: tell, info: tell } }) };
}

describe('spans that cannot be sent', () => {
  it('are lost, and nothing else, where they cannot be written down', async () => {
    const { told, sender } = start();
    const broken = { spanContext: 'none' } as Partial<Record<keyof ReadableSpan, unknown>> as ReadableSpan;
    expect(await sender.send([broken])).toBe(0);
    expect(told).toEqual(['spans are lost: the collector does not take them']);
    await sender.close();
  });

  it('are given up at once, and told of to nobody, when the sender is closed', async () => {
    const { told, sender } = start();
    await sender.close();
    const startedAt = performance.now();
    expect(await sender.send([])).toBe(0);
    // Tries again would take 3.5 s.
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(told).toEqual([]);
  });
});
