import { describe, expect, it } from '@jest/globals';
import { limitRate } from './limit-rate.ts';

const refused = (seconds: number) =>
  expect.objectContaining({ code: 'too_many_requests', headers: { 'Retry-After': String(seconds) } });

describe('limitRate', () => {
  it('admits a burst of each key, then as many requests as its rate allows', () => {
    let now = 0;
    const limit = limitRate({ burst: 3, perSecond: 0.5, now: () => now });
    for (let n = 0; n < 3; n += 1) limit.take('one');
    expect(() => limit.take('one')).toThrow(refused(2));
    limit.take('two');
    now = 1999;
    expect(() => limit.take('one')).toThrow(refused(1));
    now = 2000;
    limit.take('one');
    expect(() => limit.take('one')).toThrow(refused(2));
    now += 3_600_000;
    for (let n = 0; n < 3; n += 1) limit.take('one');
    expect(() => limit.take('one')).toThrow(refused(2));
  });

  it('forgets only the least recently used key when there are too many keys', () => {
    const limit = limitRate({ burst: 1, perSecond: 0.001, now: () => 0 });
    limit.take('first');
    limit.take('second');
    expect(() => limit.take('first')).toThrow();
    for (let n = 2; n < 10_000; n += 1) limit.take(`caller-${n}`);
    limit.take('one more');
    expect(() => limit.take('first')).toThrow();
    limit.take('second');
  });
});
