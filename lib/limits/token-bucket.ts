/** Size of a token bucket, and how fast it refills. */
export interface BucketRate {
  /** Tokens of a full bucket: requests that pass at once. */
  readonly requests: number;
  /** Milliseconds in which an empty bucket becomes full. */
  readonly period: number;
}

/** Token bucket. Stores the tokens taken, so that a bucket keeps its count when its rate changes. */
export class TokenBucket {
  #taken = 0;
  #at: number;

  /** @param now milliseconds of a clock that never steps back */
  constructor(now: number) {
    this.#at = now;
  }

  /** Refills the bucket. Returns the milliseconds until it holds a token; 0: it holds one. */
  refill({ requests, period }: BucketRate, now: number): number {
    const refilled = ((now - this.#at) * requests) / period;
    this.#taken = Math.min(requests, Math.max(0, this.#taken - refilled));
    this.#at = now;
    return Math.max(0, ((this.#taken + 1 - requests) * period) / requests);
  }

  /** Takes a token. Call it only after `refill` has returned 0. */
  take(): void {
    this.#taken += 1;
  }
}
