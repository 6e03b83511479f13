import { describe, expect, it } from '@jest/globals';
import { SingleFlight } from './single-flight.ts';

/** Counts the paced runs of `work`, on a clock that only pauses move. */
function paced(work: (count: number) => Promise<number> = (count) => Promise.resolve(count)) {
  let [now, runs] = [0, 0];
  const flight = new SingleFlight(() => work((runs += 1)), {
    interval: 1000,
    now: () => now,
    pause: (milliseconds) => Promise.resolve(void (now += milliseconds)),
  });
  return { flight, runs: () => runs, now: () => now };
}

describe('SingleFlight', () => {
  it('shares one run that starts after the calls, also after a failed run', async () => {
    const ends: ((text: string | Error) => void)[] = [];
    const flight = new SingleFlight(
      () =>
        new Promise<string>((resolve, reject) => {
          ends.push((end) => (typeof end === 'string' ? resolve(end) : reject(end)));
        }),
    );
    const begun = async (count: number): Promise<void> => {
      await new Promise(setImmediate);
      expect(ends).toHaveLength(count);
    };
    const first = [flight.run(), flight.run()];
    await begun(1);
    const second = [flight.run(), flight.run()].map((run) => run.catch(String));
    await begun(1);
    ends[0]?.('one');
    expect(await Promise.all(first)).toEqual(['one', 'one']);
    await begun(2);
    const third = flight.run();
    ends[1]?.(new Error('no'));
    expect(await Promise.all(second)).toEqual(['Error: no', 'Error: no']);
    await begun(3);
    ends[2]?.('three');
    expect(await third).toBe('three');
  });

  it('shares one paced run among all calls before it, and starts the next one an interval later', async () => {
    const { flight, runs, now } = paced();
    expect(await Promise.all(Array.from({ length: 50 }, () => flight.run()))).toEqual(Array(50).fill(1));
    expect([runs(), now()]).toEqual([1, 0]);
    expect(await Promise.all(Array.from({ length: 50 }, () => flight.run()))).toEqual(Array(50).fill(2));
    expect([runs(), now()]).toEqual([2, 1000]);
  });

  it('gives a call no result of a run that had started before', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { flight } = paced(async (count) => {
      if (count === 1) await promise;
      return count;
    });
    const first = flight.run();
    await new Promise((begun) => setImmediate(begun));
    const second = flight.run();
    resolve(undefined);
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  it('rejects only the calls that shared a failed run', async () => {
    const { flight } = paced((count) => (count === 1 ? Promise.reject(new Error('cut')) : Promise.resolve(count)));
    await expect(flight.run()).rejects.toThrow('cut');
    expect(await flight.run()).toBe(2);
  });
});
