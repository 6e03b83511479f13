import { TokenBucket } from '#lib/limits/token-bucket';
import { Problem } from './problem.ts';

export interface RateLimit {
  /** @throws Problem `too_many_requests`, with Retry-After */
  take(key: string): void;
}

interface RateOptions {
  burst: number;
  /** Average requests per second. */
  perSecond: number;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
}

/** An additional bucket replaces the least recently used one, whose key then starts with a full bucket. */
const MAX_BUCKETS = 10_000;

export function limitRate({ burst, perSecond, now }: RateOptions): RateLimit {
  const rate = { requests: burst, period: (burst / perSecond) * 1000 };
  const buckets = new Map<string, TokenBucket>();
  return {
    take(key) {
      const at = now();
      const bucket = buckets.get(key) ?? new TokenBucket(at);
      buckets.delete(key);
      const [oldest] = buckets.keys();
      if (buckets.size >= MAX_BUCKETS && oldest !== undefined) buckets.delete(oldest);
      buckets.set(key, bucket);
      const wait = bucket.refill(rate, at);
      if (wait > 0) throw tooMany(Math.ceil(wait / 1000));
      bucket.take();
    },
  };
}

function tooMany(seconds: number): Problem {
  return new Problem('too_many_requests', `more requests than one caller may make; try again in ${seconds} s`, {
    headers: { 'Retry-After': String(seconds) },
  });
}
