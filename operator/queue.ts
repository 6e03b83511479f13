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
  /** Works on one key that has waited so many milliseconds. Never runs twice at once for the same key. Must not reject. */
  work: (key: string, waited: number) => Promise<void>;
  clock: Clock;
  /** How many keys are worked on at once. */
  concurrency?: number | undefined;
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
  readonly #options: QueueOptions & { concurrency: number; baseDelay: number; maxDelay: number };
  /** Key to the time since when it waits. */
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

  /** To be worked on as soon as there is room. */
  add(key: string): void {
    if (this.#closed) return;
    this.#dropTimer(key);
    const place = this.#running.has(key) ? this.#again : this.#waiting;
    if (!place.has(key)) place.set(key, this.#options.clock.now());
    this.#startNext();
  }

  /** How many keys wait; those with a delay do not count. */
  get depth(): number {
    return this.#waiting.size + this.#again.size;
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
