import { describe, expect, it } from '@jest/globals';
import { rememberServer } from './known-server.ts';

const HOUR = 3_600_000;

/** Answers with the number of the look-up; those of `fails` fail. */
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

/** Everything that waits for nothing but promises has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('what is found', () => {
  it('is looked up once for all who ask', async () => {
    const { get, looks } = remembering();
    expect(await Promise.all([get(), get(), get()])).toEqual([1, 1, 1]);
    expect([await get(), looks()]).toEqual([1, 1]);
  });

  it('serves while it is looked up again after an hour', async () => {
    const { get, looks, pass } = remembering();
    await get();
    pass(HOUR + 1);
    expect([await get(), looks()]).toEqual([1, 2]);
    await settled();
    expect(await get()).toBe(2);
  });

  it('serves where it cannot be looked up again', async () => {
    const { get, pass } = remembering([2]);
    await get();
    pass(HOUR + 1);
    await get();
    await settled();
    expect(await get()).toBe(1);
  });

  it('is not looked up at once after a failure, and is after two seconds', async () => {
    const { get, looks, pass } = remembering([1]);
    await expect(get()).rejects.toThrow('look-up 1');
    await expect(get()).rejects.toThrow('look-up 1');
    expect(looks()).toBe(1);
    pass(2_000);
    expect(await get()).toBe(2);
  });
});
