interface Pacing {
  /** Least milliseconds from the start of a run to the start of the next. */
  interval: number;
  /** Milliseconds of any clock. */
  now: () => number;
  /** Waits that many milliseconds. It may end early, and the run then starts at once. */
  pause: (milliseconds: number) => Promise<void>;
}

/**
 * Runs `work` once for all callers that wait, and never twice at the same time. Calls made during a run share one later run, because
 * the current run may miss what the caller has just changed.
 */
export class SingleFlight<T> {
  readonly #work: () => Promise<T>;
  readonly #pacing: Pacing | undefined;
  #next: Promise<T> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #startedAt = -Infinity;

  constructor(work: () => Promise<T>, pacing?: Pacing) {
    this.#work = work;
    this.#pacing = pacing;
  }

  /** Resolves to the result of a run that starts after this call. @throws what `work` throws */
  run(): Promise<T> {
    this.#next ??= this.#startNext();
    return this.#next;
  }

  async #startNext(): Promise<T> {
    await this.#last.catch(() => undefined);
    try {
      await this.#pause();
    } finally {
      this.#next = undefined;
    }
    this.#startedAt = this.#pacing?.now() ?? 0;
    const run = this.#work();
    this.#last = run;
    return run;
  }

  async #pause(): Promise<void> {
    if (!this.#pacing) return;
    const { interval, now, pause } = this.#pacing;
    if (now() - this.#startedAt < interval) await pause(interval);
  }
}
