interface SharedLookOptions<T> {
  look: () => Promise<T>;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Waits that many milliseconds, or less where nobody needs to know any more. */
  pause: (milliseconds: number) => Promise<void>;
}

/** From the beginning of one look to that of the next. Milliseconds. */
const LOOK = 1000;

/** Looks for all who wait: once a second, however many they are, and one look after the other. */
export class SharedLook<T> {
  readonly #in: SharedLookOptions<T>;
  #coming: Promise<T> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #beganAt = -Infinity;

  constructor(options: SharedLookOptions<T>) {
    this.#in = options;
  }

  /** What the next look shows: one that has begun may have missed what its caller did. Throws what looking throws. */
  next(): Promise<T> {
    this.#coming ??= this.#begin();
    return this.#coming;
  }

  async #begin(): Promise<T> {
    const { look, now, pause } = this.#in;
    await this.#last.catch(() => undefined);
    try {
      if (now() - this.#beganAt < LOOK) await pause(LOOK);
    } finally {
      this.#coming = undefined;
    }
    this.#beganAt = now();
    const seen = look();
    this.#last = seen;
    return seen;
  }
}
