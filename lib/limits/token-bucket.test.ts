import { describe, expect, it } from '@jest/globals';
import { type BucketRate, TokenBucket } from './token-bucket.ts';

const RATE = { requests: 2, period: 1000 };

/** Takes tokens while there are some. Returns their number. */
function takeAll(bucket: TokenBucket, now: number, rate: BucketRate = RATE): number {
  let count = 0;
  for (; bucket.refill(rate, now) === 0; count += 1) bucket.take();
  return count;
}

describe('TokenBucket', () => {
  it('starts full, refills evenly and returns the exact wait', () => {
    const bucket = new TokenBucket(5);
    expect(takeAll(bucket, 5)).toBe(2);
    expect(bucket.refill(RATE, 5)).toBe(500);
    expect(bucket.refill(RATE, 504)).toBeCloseTo(1);
    expect(takeAll(bucket, 505)).toBe(1);
  });

  it('holds no more tokens than its size, however long it rests', () => {
    const bucket = new TokenBucket(0);
    takeAll(bucket, 0);
    expect(takeAll(bucket, 60_000)).toBe(2);
  });

  it('takes no token when it is only refilled', () => {
    const bucket = new TokenBucket(0);
    for (let nr = 0; nr < 10; nr += 1) expect(bucket.refill(RATE, 0)).toBe(0);
    expect(takeAll(bucket, 0)).toBe(2);
  });

  it('keeps the tokens taken when its rate changes', () => {
    const bucket = new TokenBucket(0);
    takeAll(bucket, 0);
    expect(takeAll(bucket, 0, { requests: 5, period: 1000 })).toBe(3);
    expect(bucket.refill({ requests: 1, period: 1000 }, 0)).toBe(1000);
  });
});
