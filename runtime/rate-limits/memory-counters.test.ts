import { describe, expect, it } from '@jest/globals';
import type { Limit } from './limit.ts';
import { MemoryCounters } from './memory-counters.ts';

const limit = (id: string, more: Partial<Limit> = {}): Limit => ({
  ...{ id, scope: 'global', perUser: false, requests: 2, period: 1000, onStoreFailure: 'closed' },
  ...more,
});

/** Returns a clock, counters that use it, and a function that counts how many of a number of requests pass. */
function arrange() {
  const clock = { now: 5 };
  const counters = new MemoryCounters(() => clock.now);
  const passed = (count: number, limits: readonly Limit[], user = 'ann') =>
    Array.from({ length: count }, () => counters.take(limits, user)).filter((refusal) => refusal === undefined).length;
  return { clock, counters, passed };
}

describe('MemoryCounters', () => {
  it('admits a burst, then an even rate, and returns the exact wait', () => {
    const { clock, counters, passed } = arrange();
    const two = [limit('two')];
    expect(passed(5, two)).toBe(2);
    expect(counters.take(two, 'ann')).toEqual({ limit: two[0], wait: 500 });
    clock.now += 499;
    expect(counters.take(two, 'ann')?.wait).toBeCloseTo(1);
    clock.now += 1;
    expect(passed(2, two)).toBe(1);
    clock.now += 60_000;
    expect(passed(5, two)).toBe(2);
  });

  it('counts a request at all limits or at none, and returns the longest wait', () => {
    const { clock, counters, passed } = arrange();
    const [one, many, user] = [
      limit('one', { requests: 1, period: 100 }),
      limit('many', { requests: 10 }),
      limit('user', { requests: 2, perUser: true, period: 10_000 }),
    ];
    expect(passed(9, [many, one, user])).toBe(1);
    expect(passed(20, [many])).toBe(9);
    clock.now += 100;
    expect(passed(1, [one, user])).toBe(1);
    expect(counters.take([one, user], 'ann')).toEqual({ limit: user, wait: 4900 });
  });

  it('counts each user separately under a per-user limit, and reads the clock once per request', () => {
    const { counters, passed } = arrange();
    const each = [limit('each', { perUser: true })];
    expect([passed(5, each, 'ann'), passed(5, each, 'bob'), passed(5, each, 'ann')]).toEqual([2, 2, 0]);
    let time = 0;
    const going = new MemoryCounters(() => (time += 1));
    expect(going.take([limit('one', { requests: 1 })], 'ann')).toBeUndefined();
    counters.close();
  });

  it('keeps its counts over a reload and applies the new rate', () => {
    const { counters, passed } = arrange();
    expect(passed(5, [limit('kept'), limit('each', { perUser: true })])).toBe(2);
    const [more, less, each] = [
      limit('kept', { requests: 5 }),
      limit('kept', { requests: 1 }),
      limit('each', { perUser: true }),
    ];
    counters.retain([more, each]);
    expect([passed(9, [more]), passed(9, [less]), passed(9, [each])]).toEqual([3, 0, 0]);
    expect(counters.take([less], 'ann')).toMatchObject({ wait: 1000 });
    counters.retain([more]);
    counters.retain([each]);
    expect([passed(9, [more]), passed(9, [each])]).toEqual([5, 2]);
  });

  it('counts a bounded number of users and evicts idle ones first', () => {
    const { counters, passed } = arrange();
    const each = Array.from({ length: 200 }, (_, at) => limit(`each ${at}`, { perUser: true }));
    counters.retain(each);
    const [first] = each as [Limit];
    passed(2, [first], 'ann');
    passed(2, [first], 'idle');
    for (let stranger = 0; stranger < 2_500; stranger++) {
      passed(1, [first], `stranger ${stranger}`);
      if (stranger % 100 === 0) expect(passed(1, [first], 'ann')).toBe(0);
    }
    expect(passed(1, [first], 'idle')).toBe(1);
  });

  it('bounds the users over all limits, regardless of the number of limits', () => {
    const { counters, passed } = arrange();
    const each = Array.from({ length: 400 }, (_, at) => limit(`each ${at}`, { perUser: true, requests: 1 }));
    const [first] = each as [Limit];
    const come = (users: number) => {
      let known = 0;
      // In reverse order, because a new user evicts an earlier one.
      for (let user = users - 1; user >= 0; user--) known += 1 - passed(1, [first], `user ${user}`);
      return known;
    };
    counters.retain([first]);
    for (let user = 0; user < 3_000; user++) passed(1, [first], `user ${user}`);
    expect(come(3_000)).toBe(3_000);
    counters.retain(each);
    expect(come(3_000)).toBe(500);
    counters.retain([first]);
    come(3_000);
    expect(come(3_000)).toBe(3_000);
  });
});
