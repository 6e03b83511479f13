import { type Entry, UnderWay } from '#runtime/under-way';

const TICK = 100;

/** Something that must end: `expiresAt` is in milliseconds of the same clock. */
export interface Expiring extends Entry {
  expiresAt: number;
  expire(): void;
}

/**
 * One timer for all calls under way: arming and disarming a timer for each call would cost more than the relay itself.
 * Precise to 100 ms.
 */
export class Deadlines {
  readonly #running = new UnderWay<Expiring>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(entry: Expiring): void {
    this.#running.add(entry);
    this.#timer ??= setInterval(() => this.#sweep(), TICK).unref();
  }

  delete(entry: Expiring): void {
    this.#running.delete(entry);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = this.#now();
    for (const entry of this.#running.all()) {
      // One that expires may end others.
      if (entry.expiresAt <= now && this.#running.has(entry)) {
        this.#running.delete(entry);
        entry.expire();
      }
    }
    if (this.#running.size === 0) {
      this.close();
    }
  }
}
