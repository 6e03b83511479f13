/** Time source of the queue; tests replace it. */
export interface Clock {
  now(): number;
  /** Calls `then` once after this many milliseconds, unless the returned function is called first. */
  after(milliseconds: number, then: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, then) {
    const timer = setTimeout(then, milliseconds);
    return () => {
      clearTimeout(timer);
    };
  },
};

interface QueueOptions {
  /** Works on one key that has waited this many milliseconds. Never runs concurrently for the same key. Must not reject. */
  work: (key: string, waited: number) => Promise<void>;
  clock: Clock;
  /** Most keys with concurrent work. */
  concurrency?: number | undefined;
  /** Milliseconds before the first retry; doubles with each further one up to `maxDelay`. */
  baseDelay?: number;
  maxDelay?: number;
}

interface Timer {
  due: number;
  cancel: () => void;
}

/** First-in-first-out queue of keys. A waiting key is not added again. A key that is added during its work is worked on once more. */
export class WorkQueue {
  readonly #options: QueueOptions & { concurrency: number; baseDelay: number; maxDelay: number };
  /** Maps a key to the time since when it waits. */
  readonly #waiting = new Map<string, number>();
  readonly #running = new Set<string>();
  readonly #again = new Map<string, number>();
  readonly #timers = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();
  readonly #idle: (() => void)[] = [];
  #closed = false;

  constructor(options: QueueOptions) {
    this.#options = { baseDelay: 200, maxDelay: 300_000, ...options, concurrency: options.concurrency ?? 4 };
  }

  /** Queues a key. */
  add(key: string): void {
    if (this.#closed) return;
    this.#dropTimer(key);
    const place = this.#running.has(key) ? this.#again : this.#waiting;
    if (!place.has(key)) place.set(key, this.#options.clock.now());
    this.#startNext();
  }

  /** Number of waiting keys, without delayed ones. */
  get depth(): number {
    return this.#waiting.size + this.#again.size;
  }

  /** Queues a key after this many milliseconds; of two delays of one key, the earlier one wins. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#closed) return;
    const due = this.#options.clock.now() + milliseconds;
    const present = this.#timers.get(key);
    if (present !== undefined && present.due <= due) return;
    this.#dropTimer(key);
    this.#timers.set(key, { due, cancel: this.#options.clock.after(milliseconds, () => this.add(key)) });
  }

  /** Counts a failure. Returns the milliseconds until the next attempt, which grow each time. */
  failed(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#options.baseDelay * 2 ** failures, this.#options.maxDelay);
  }

  /** Resets the delay of a key after a success. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Resolves when no key waits and no work runs. Delayed keys do not count. */
  async idle(): Promise<void> {
    if (this.#running.size === 0 && this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Accepts no more keys. Resolves when running work has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const key of [...this.#timers.keys()]) this.#dropTimer(key);
    this.#waiting.clear();
    this.#again.clear();
    await this.idle();
  }

  #dropTimer(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
  }

  #startNext(): void {
    for (const [key, since] of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#options.work(key, this.#options.clock.now() - since).finally(() => {
        this.#finish(key);
      });
    }
  }

  #finish(key: string): void {
    this.#running.delete(key);
    const since = this.#again.get(key);
    this.#again.delete(key);
    if (since !== undefined) this.#waiting.set(key, since);
    this.#startNext();
    if (this.#running.size > 0 || this.#waiting.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
