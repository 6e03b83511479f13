import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { giveBackWhenIdle } from './give-back-memory.ts';

const PERIOD = 60_000;

describe('giveBackWhenIdle', () => {
  let cpu = 0;
  let collections = 0;
  let stop: () => void;

  beforeEach(() => {
    jest.useFakeTimers();
    cpu = 1_000;
    collections = 0;
    const gc = ({ flavor }: { flavor: string }) => {
      if (flavor === 'last-resort') collections++;
      cpu += 5_000;
    };
    stop = giveBackWhenIdle({ period: PERIOD, cpuTime: () => cpu, gc });
  });
  afterEach(() => {
    stop();
    jest.useRealTimers();
  });

  const pass = (periods: number, work: number) => {
    for (let period = 0; period < periods; period++) {
      cpu += work;
      jest.advanceTimersByTime(PERIOD);
    }
  };

  it('collects once after work, when the process is idle', () => {
    pass(3, 30_000);
    expect(collections).toBe(0);
    pass(10, 100);
    expect(collections).toBe(1);
    pass(1, 30_000);
    pass(5, 100);
    expect(collections).toBe(2);
  });

  it('does not collect without work', () => {
    pass(20, 100);
    expect(collections).toBe(0);
  });

  it.each([10_000, 500])('collects once after a start of %i ms, if that counts as work', (start) => {
    stop();
    cpu = start;
    const gc = () => (collections += 1);
    stop = giveBackWhenIdle({ period: PERIOD, cpuTime: () => cpu, gc, since: -Infinity });
    pass(3, 0);
    expect(collections).toBe(1);
  });

  it('does not collect after it is stopped', () => {
    pass(1, 30_000);
    stop();
    pass(5, 0);
    expect(collections).toBe(0);
  });
});
