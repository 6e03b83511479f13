import { describe, expect, it } from '@jest/globals';
import { rememberServer } from './known-server.ts';

const HOUR = 3_600_000;

/** Returns the number of each lookup; lookups in `fails` fail. */
function remembering(fails: number[] = []) {
  let time = 0;
  let looks = 0;
  const get = rememberServer(
    async () => {
      looks += 1;
      await Promise.resolve();
      if (fails.includes(looks)) throw new Error(`look-up ${looks}`);
      return looks;
    },
    () => time,
  );
  return { get, looks: () => looks, pass: (milliseconds: number) => (time += milliseconds) };
}

/** Settles after all pending promises. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('rememberServer', () => {
  it('looks the server up once for all callers', async () => {
    const { get, looks } = remembering();
    expect(await Promise.all([get(), get(), get()])).toEqual([1, 1, 1]);
    expect([await get(), looks()]).toEqual([1, 1]);
  });

  it('uses the cached server during the renewal after an hour', async () => {
    const { get, looks, pass } = remembering();
    await get();
    pass(HOUR + 1);
    expect([await get(), looks()]).toEqual([1, 2]);
    await settled();
    expect(await get()).toBe(2);
  });

  it('keeps the cached server if the renewal fails', async () => {
    const { get, pass } = remembering([2]);
    await get();
    pass(HOUR + 1);
    await get();
    await settled();
    expect(await get()).toBe(1);
  });

  it('looks a fresh server up again, and returns the cached one if that fails', async () => {
    const { get } = remembering([3]);
    expect([await get(), await get(true), await get(true), await get()]).toEqual([1, 2, 2, 2]);
  });

  it('retries a failed lookup after two seconds, not at once', async () => {
    const { get, looks, pass } = remembering([1]);
    await expect(get()).rejects.toThrow('look-up 1');
    await expect(get()).rejects.toThrow('look-up 1');
    expect(looks()).toBe(1);
    pass(2_000);
    expect(await get()).toBe(2);
  });
});
