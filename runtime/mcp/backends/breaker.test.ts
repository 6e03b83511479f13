import { describe, expect, it } from '@jest/globals';
import { createBreaker } from './breaker.ts';
import { callFailure } from './failures.ts';

function breakerOf(failureThreshold = 2) {
  const clock = { time: 0 };
  const breaker = createBreaker({ enabled: true, failureThreshold, timeout: 1_000 }, () => clock.time);
  return { clock, breaker, fails: () => breaker.record(callFailure('a', 'timeout', true)) };
}

describe('createBreaker', () => {
  it('opens after consecutive failures and restarts the count after a success', () => {
    const { breaker, fails } = breakerOf();
    fails();
    breaker.record(undefined);
    fails();
    expect(breaker.admits()).toBe(true);
    fails();
    expect(breaker.admits()).toBe(false);
  });

  it('admits one trial call after the timeout and closes if it succeeds', () => {
    const { breaker, clock, fails } = breakerOf(1);
    fails();
    clock.time = 999;
    expect(breaker.admits()).toBe(false);
    clock.time = 1_000;
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
    breaker.record(undefined);
    expect([breaker.admits(), breaker.admits(), breaker.state]).toEqual([true, true, 'closed']);
  });

  it('waits again after a failed trial and retries after a cancelled one', () => {
    const { breaker, clock, fails } = breakerOf(1);
    fails();
    clock.time = 1_000;
    breaker.admits();
    fails();
    expect(breaker.admits()).toBe(false);
    clock.time = 2_000;
    expect(breaker.admits()).toBe(true);
    breaker.record(callFailure('a', 'aborted', true));
    expect(breaker.admits()).toBe(true);
  });

  it('reports its state and admits one call after an answered probe if connections failed', () => {
    const { breaker, clock } = breakerOf(1);
    expect(breaker.state).toBe('closed');
    breaker.record(callFailure('a', 'refused', false));
    clock.time = 300;
    expect(breaker.state).toBe('open');
    breaker.noteProbe();
    expect(breaker.state).toBe('half-open');
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false]);
  });

  it('waits the full timeout after timed-out calls, despite answered probes', () => {
    const { breaker, fails } = breakerOf(1);
    fails();
    breaker.noteProbe();
    expect([breaker.state, breaker.admits()]).toEqual(['open', false]);
  });

  it.each([
    'busy',
    'aborted',
    'restarting',
    'ended',
    'unauthorized',
    'credential',
    'too_large',
    'session_lost',
  ] as const)('does not count what ended with %s', (reason) => {
    const { breaker } = breakerOf(1);
    breaker.record(callFailure('a', reason, true));
    expect(breaker.admits()).toBe(true);
  });
});
