import { describe, expect, it } from '@jest/globals';
import { SharedLook } from './shared-look.ts';

/** Looks that are counted, on a clock that only pauses move. */
function counted(look: (count: number) => Promise<number> = (count) => Promise.resolve(count)) {
  let [now, looks] = [0, 0];
  const shared = new SharedLook({
    look: () => look((looks += 1)),
    now: () => now,
    pause: (milliseconds) => Promise.resolve(void (now += milliseconds)),
  });
  return { shared, looks: () => looks, now: () => now };
}

describe('a look that many share', () => {
  it('is one for all who ask before it begins, and the next one begins a second later', async () => {
    const { shared, looks, now } = counted();
    expect(await Promise.all(Array.from({ length: 50 }, () => shared.next()))).toEqual(Array(50).fill(1));
    expect([looks(), now()]).toEqual([1, 0]);
    expect(await Promise.all(Array.from({ length: 50 }, () => shared.next()))).toEqual(Array(50).fill(2));
    expect([looks(), now()]).toEqual([2, 1000]);
  });

  it('is not that which had begun before somebody asked', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { shared } = counted(async (count) => {
      if (count === 1) await promise;
      return count;
    });
    const first = shared.next();
    await new Promise((begun) => setImmediate(begun));
    const second = shared.next();
    resolve(undefined);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  it('that fails fails for those who shared it alone', async () => {
    const { shared } = counted((count) => (count === 1 ? Promise.reject(new Error('cut')) : Promise.resolve(count)));
    await expect(shared.next()).rejects.toThrow('cut');
    expect(await shared.next()).toBe(2);
  });
});
