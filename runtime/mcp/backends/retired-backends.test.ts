import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Backend } from './backend.ts';
import { RetiredBackends } from './retired-backends.ts';

const ignore = () => undefined;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const monotonic = () => performance.now();

/** Creates a backend that only records its closing. */
function retiring(running: number, close: () => Promise<void>) {
  return { name: 'a', running, close } as Partial<Backend> as Backend & { running: number };
}

describe('RetiredBackends', () => {
  it('closes a backend after its last call and the last request that may still call it', async () => {
    const retired = new RetiredBackends(silent, monotonic);
    const state = { closed: false };
    const backend = { ...retiring(1, () => Promise.resolve(void (state.closed = true))) };
    let begun = true;
    retired.add([backend], () => begun);
    await sleep(60);
    expect(state.closed).toBe(false);
    backend.running = 0;
    await sleep(60);
    expect(state.closed).toBe(false);
    begun = false;
    for (let i = 0; i < 6_000 && !state.closed; i++) await sleep(10);
    expect(state.closed).toBe(true);
  });

  it('closes a backend after ten minutes despite running calls', async () => {
    const clock = { time: 0 };
    const retired = new RetiredBackends(silent, () => clock.time);
    const state = { closed: false };
    retired.add([retiring(1, () => Promise.resolve(void (state.closed = true)))], () => false);
    clock.time = 599_000;
    await sleep(60);
    expect(state.closed).toBe(false);
    clock.time = 600_000;
    for (let i = 0; i < 6_000 && !state.closed; i++) await sleep(10);
    expect(state.closed).toBe(true);
  });

  it('logs a backend that cannot be closed, without failing', async () => {
    const logged: unknown[] = [];
    const error = (message: string, fields?: unknown) => void logged.push([message, fields]);
    const retired = new RetiredBackends({ ...silent, error }, monotonic);
    const reason = new Error('it does not let go');
    retired.add([retiring(0, () => Promise.reject(reason))], () => false);
    await retired.close();
    expect(logged).toEqual([['a backend could not be closed', { backend: 'a', error: reason }]]);
  });

  it('closes all backends at once on close, despite running calls', async () => {
    const retired = new RetiredBackends(silent, monotonic);
    let closed = false;
    retired.add([retiring(1, () => Promise.resolve(void (closed = true)))], () => true);
    await retired.close();
    expect(closed).toBe(true);
  });
});
