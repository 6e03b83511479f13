import { Problem } from './problem.ts';

export interface RateLimit {
  /** @throws Problem `too_many_requests`, with Retry-After */
  take(who: string): void;
}

interface RateOptions {
  /** Requests at once. */
  burst: number;
  /** Requests a second on the average. */
  perSecond: number;
  /** Milliseconds, from any start. */
  now: () => number;
}

/** Callers that are remembered; who has not been seen longest is forgotten, and has a full bucket again. */
const REMEMBERED = 10_000;

/** A token bucket for each caller. */
export function limitRate({ burst, perSecond, now }: RateOptions): RateLimit {
  const buckets = new Map<string, { left: number; at: number }>();
  return {
    take(who) {
      const at = now();
      const former = buckets.get(who) ?? { left: burst, at };
      buckets.delete(who);
      const left = Math.min(burst, former.left + ((at - former.at) / 1000) * perSecond);
      const [oldest] = buckets.keys();
      if (buckets.size >= REMEMBERED && oldest !== undefined) buckets.delete(oldest);
      buckets.set(who, { left: left < 1 ? left : left - 1, at });
      if (left >= 1) return;
      const seconds = Math.ceil((1 - left) / perSecond);
      throw new Problem('too_many_requests', `more requests than one caller may make; try again in ${seconds} s`, {
        headers: { 'Retry-After': String(seconds) },
      });
    },
  };
}
