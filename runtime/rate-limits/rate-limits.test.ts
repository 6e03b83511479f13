import { describe, expect, it } from '@jest/globals';
import { RunConfig } from '#crds/run-config/run-config';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { LimitTable } from './limit-table.ts';
import { MemoryCounters } from './memory-counters.ts';
import { RateLimits } from './rate-limits.ts';

const ignore = () => undefined;

/** Returns limits of two requests per user in 10 s and a test clock. `asked`: number of calls to the counters. */
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

describe('denied requests', () => {
  it('stop calling the counters while their caller is over the per-user limit', () => {
    const { clock, limits, asked } = arrange();
    for (let one = 0; one < 100; one++) limits.charge(ANONYMOUS);
    // Two calls pass, and the third one reports the exhausted limit.
    expect(asked.times).toBe(3);
    expect(() => limits.check(ANONYMOUS)).toThrow('Too many requests: try again in 5 s');
    clock.now += 5_000;
    for (let one = 0; one < 100; one++) limits.charge(ANONYMOUS);
    expect(asked.times).toBe(5);
  });
});
