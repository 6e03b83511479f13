import { describe, expect, it } from '@jest/globals';
import { RunConfig } from '#crds/run-config/run-config';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { LimitTable } from './limit-table.ts';
import { MemoryCounters } from './memory-counters.ts';
import { RateLimits } from './rate-limits.ts';

const ignore = () => undefined;

/** Limits of which each user has two in 10 s, by a clock that a test sets; `asked`: how often it was asked whether there is room. */
function arrange() {
  const clock = { now: 5 };
  const now = () => clock.now;
  const counters = new MemoryCounters(now);
  const asked = { times: 0 };
  const config = RunConfig.parse({
    schema_version: 'v0.1.0',
    server: { namespace: 'n', name: 'n', uid: 'u' },
    incoming: { type: 'anonymous' },
    backends: [],
    rate_limiting: { rules: [{ requests: 2, per: '10s', scope: 'user' }] },
  });
  const counted = {
    take: (...of: Parameters<MemoryCounters['take']>) => {
      asked.times += 1;
      return counters.take(...of);
    },
    retain: ignore,
    close: ignore,
  };
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const limits = new RateLimits({ table: new LimitTable(config), counters: counted, now, log, count: ignore });
  return { clock, limits, asked };
}

describe('requests that are denied', () => {
  it('ask no further once their caller has used up what users have, until there is room again', () => {
    const { clock, limits, asked } = arrange();
    for (let one = 0; one < 100; one++) limits.charge(ANONYMOUS);
    // Two that pass, and the one that learns that there is no more.
    expect(asked.times).toBe(3);
    expect(() => limits.check(ANONYMOUS)).toThrow('Too many requests: try again in 5 s');
    clock.now += 5_000;
    for (let one = 0; one < 100; one++) limits.charge(ANONYMOUS);
    expect(asked.times).toBe(5);
  });
});
