/** Time as the queue needs it; tests give their own. */
export interface Clock {
  now(): number;
  /** Calls `then` once after so many milliseconds, unless the returned function is called before. */
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
  /** Works on one key. Never runs twice at once for the same key. Must not reject. */
  work: (key: string) => Promise<void>;
  clock: Clock;
  /** How many keys are worked on at once. */
  concurrency?: number;
  /** Milliseconds before the first retry; doubles with each further one up to `maxDelay`. */
  baseDelay?: number;
  maxDelay?: number;
}

interface Timer {
  due: number;
  cancel: () => void;
}

/**
 * A queue of keys, never of events: a key that waits already is not added again, and one that is being worked on is
 * worked on once more afterwards. The order is that of arrival.
 */
export class WorkQueue {
  readonly #options: Required<QueueOptions>;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();
  readonly #idle: (() => void)[] = [];
  #closed = false;

  constructor(options: QueueOptions) {
    this.#options = { concurrency: 4, baseDelay: 200, maxDelay: 300_000, ...options };
  }

  /** To be worked on as soon as there is room. */
  add(key: string): void {
    if (this.#closed) return;
    this.#dropTimer(key);
    if (this.#running.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    this.#startNext();
  }

  /** To be worked on after so many milliseconds; of two delays of one key the earlier one counts. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#closed) return;
    const due = this.#options.clock.now() + milliseconds;
    const present = this.#timers.get(key);
    if (present !== undefined && present.due <= due) return;
    this.#dropTimer(key);
    this.#timers.set(key, { due, cancel: this.#options.clock.after(milliseconds, () => this.add(key)) });
  }

  /** Counts a failure and returns the delay in milliseconds before the next attempt: longer each time. */
  failed(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#options.baseDelay * 2 ** failures, this.#options.maxDelay);
  }

  /** After a success: the next failure starts with the shortest delay again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Resolves when nothing waits and nothing runs. Delayed keys do not count. */
  async idle(): Promise<void> {
    if (this.#running.size === 0 && this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Takes nothing more and resolves when what runs has ended. */
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
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#options.work(key).finally(() => {
        this.#finish(key);
      });
    }
  }

  #finish(key: string): void {
    this.#running.delete(key);
    if (this.#again.delete(key)) this.#waiting.add(key);
    this.#startNext();
    if (this.#running.size > 0 || this.#waiting.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
