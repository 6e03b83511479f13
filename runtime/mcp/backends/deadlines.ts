import { type Entry, UnderWay } from '#runtime/under-way';

const TICK = 100;

/** Something that must end when nothing was heard of it for `deadline` milliseconds. */
export interface Expiring extends Entry {
  readonly deadline: number;
  /** Milliseconds after which it ends whatever is heard. */
  readonly maximum: number;
  /** Set whenever there is a sign of life; taken back here. */
  heard: boolean;
  /** The gateway itself reads no more of it for now: its time stands still. */
  readonly isHeld: boolean;
  /** The call waits for its client: its time stands still. */
  awaitsClient(): boolean;
  /** Milliseconds of the clock; kept here. */
  expiresAt: number;
  /** Milliseconds of the clock, set at the first look after it was entered; 0 before. */
  beganAt: number;
  expire(): void;
}

/**
 * One timer for all calls under way: arming and disarming a timer for each call would cost more than the relay itself, and so would
 * a look at the clock for each sign of life. A call ends at most 200 ms late, and never early.
 */
export class Deadlines {
  readonly #running = new UnderWay<Expiring>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(entry: Expiring): void {
    entry.heard = true;
    this.#running.add(entry);
    this.#timer ??= setInterval(() => this.#sweep(), TICK).unref();
  }

  delete(entry: Expiring): void {
    this.#running.delete(entry);
  }

  /** Milliseconds since the first entry began for which `counts` holds; 0 without one. */
  oldest(counts: (entry: Expiring) => boolean): number {
    const found = this.#running.all().find(counts);
    return found && found.beganAt > 0 ? this.#now() - found.beganAt : 0;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = this.#now();
    for (const entry of this.#running.all()) {
      if (entry.beganAt === 0) entry.beganAt = now;
      const isOver = now - entry.beganAt >= entry.maximum;
      if ((entry.heard || entry.isHeld || entry.awaitsClient()) && !isOver) {
        entry.heard = false;
        entry.expiresAt = now + entry.deadline;
        // One that expires may end others.
      } else if ((isOver || entry.expiresAt <= now) && this.#running.has(entry)) {
        this.#running.delete(entry);
        entry.expire();
      }
    }
    if (this.#running.size === 0) {
      this.close();
    }
  }
}
