import type { Clock } from '#operator/queue';

/** A clock that advances only on command. */
export class ManualClock implements Clock {
  #time = 0;
  #timers: { due: number; then: () => void }[] = [];

  now(): number {
    return this.#time;
  }

  after(milliseconds: number, then: () => void): () => void {
    const timer = { due: this.#time + milliseconds, then };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.length;
  }

  pass(milliseconds: number): void {
    this.#time += milliseconds;
    const due = this.#timers.filter((timer) => timer.due <= this.#time);
    this.#timers = this.#timers.filter((timer) => timer.due > this.#time);
    for (const timer of due) timer.then();
  }
}
