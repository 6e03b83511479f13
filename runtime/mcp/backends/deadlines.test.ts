import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Deadlines, type Expiring } from './deadlines.ts';

const TICK = 100;
let deadlines: Deadlines;

beforeEach(() => {
  jest.useFakeTimers();
  deadlines = new Deadlines(() => performance.now());
});
afterEach(() => {
  deadlines.close();
  jest.useRealTimers();
});

/** Adds an entry to the table. `ended`: milliseconds after which it ended. */
function wait(deadline: number, maximum = Infinity): Expiring & { ended: number | undefined } {
  const began = performance.now();
  const links = { earlier: undefined, later: undefined };
  const entry: Expiring & { ended: number | undefined } = {
    ...{ ...links, deadline, maximum, showedLife: false, isHeld: false },
    ...{ expiresAt: Infinity, beganAt: 0, ended: undefined },
    awaitsClient: () => false,
    expire: () => {
      entry.ended = performance.now() - began;
    },
  };
  deadlines.add(entry);
  return entry;
}

it.each([1, 100, 150, 5_000])(
  'ends an entry without progress for %i ms, never early and at most two ticks late',
  (deadline) => {
    const quiet = wait(deadline);
    jest.advanceTimersByTime(deadline + 10 * TICK);
    expect(quiet.ended).toBeGreaterThanOrEqual(deadline);
    expect(quiet.ended).toBeLessThanOrEqual(deadline + 2 * TICK);
  },
);

it('restarts the full deadline after each sign of progress', () => {
  const lively = wait(400);
  for (let sign = 0; sign < 10; sign++) {
    jest.advanceTimersByTime(350);
    lively.showedLife = true;
  }
  expect(lively.ended).toBeUndefined();
  jest.advanceTimersByTime(1_000);
  expect(lively.ended).toBeGreaterThanOrEqual(10 * 350 + 400);
  expect(lively.ended).toBeLessThanOrEqual(10 * 350 + 400 + 2 * TICK);
});

it('ends an entry with progress at its maximum', () => {
  const lively = wait(400, 2_000);
  for (let sign = 0; sign < 30; sign++) {
    jest.advanceTimersByTime(100);
    lively.showedLife = true;
  }
  expect(lively.ended).toBeGreaterThanOrEqual(2_000);
  expect(lively.ended).toBeLessThanOrEqual(2_000 + 2 * TICK);
});

it('restarts the deadline of an entry that is added again', () => {
  const sent = wait(400);
  jest.advanceTimersByTime(350);
  deadlines.add(sent);
  jest.advanceTimersByTime(1_000);
  expect(sent.ended).toBeGreaterThanOrEqual(350 + 400);
});

it('ignores removed entries, even if another expiry removes them', () => {
  const over = wait(100);
  deadlines.delete(over);
  const first = wait(150);
  const second = wait(150);
  let ended = false;
  first.expire = () => {
    ended = true;
    deadlines.delete(second);
  };
  jest.advanceTimersByTime(1_000);
  expect(over.ended).toBeUndefined();
  expect(ended).toBe(true);
  expect(second.ended).toBeUndefined();
});

it('keeps no timer without entries', () => {
  wait(150);
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1_000);
  expect(jest.getTimerCount()).toBe(0);
});

it('pauses the deadline while the gateway holds the entry back', () => {
  const entry = wait(500);
  const held = Object.assign(entry, { isHeld: true });
  jest.advanceTimersByTime(5_000);
  expect(entry.ended).toBeUndefined();
  held.isHeld = false;
  jest.advanceTimersByTime(500 + 3 * TICK);
  expect(entry.ended).toBeGreaterThanOrEqual(5_000);
});
