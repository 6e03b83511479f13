import { type Entry, InFlight } from '#runtime/in-flight';

const TICK = 100;

/** `deadline`: milliseconds without progress. */
export interface Expiring extends Entry {
  readonly deadline: number;
  /** Milliseconds after which the entry ends despite progress. */
  readonly maximum: number;
  /** Set on each sign of progress; cleared by `Deadlines`. */
  showedLife: boolean;
  /** The deadline pauses meanwhile. */
  readonly isHeld: boolean;
  /** The deadline pauses meanwhile. */
  awaitsClient(): boolean;
  /** Set by `Deadlines`. */
  expiresAt: number;
  /** Set at the first tick; 0 before. */
  beganAt: number;
  expire(): void;
}

/** Uses one timer: a timer per call, or a clock read per sign of progress, costs more than the relay. Ends calls up to 200 ms late. */
export class Deadlines {
  readonly #running = new InFlight<Expiring>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(entry: Expiring): void {
    entry.showedLife = true;
    this.#running.add(entry);
    this.#timer ??= setInterval(() => this.#sweep(), TICK).unref();
  }

  delete(entry: Expiring): void {
    this.#running.delete(entry);
  }

  /** Milliseconds since the first entry began for which `counts` is true; 0 without one. */
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
      if ((entry.showedLife || entry.isHeld || entry.awaitsClient()) && !isOver) {
        entry.showedLife = false;
        entry.expiresAt = now + entry.deadline;
        // One expiry may remove other entries.
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
