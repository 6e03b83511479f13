/**
 * Reads something for all who wait, one time after the other. Who comes while it is read shares the next time, as this one may have
 * missed what its caller did.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  readonly #before: () => Promise<void> | undefined;
  #coming: Promise<T> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param before what has to be over first; who comes meanwhile shares that time */
  constructor(read: () => Promise<T>, before: () => Promise<void> | undefined = () => undefined) {
    this.#read = read;
    this.#before = before;
  }

  /** Throws what reading throws. */
  next(): Promise<T> {
    this.#coming ??= this.#begin();
    return this.#coming;
  }

  async #begin(): Promise<T> {
    await this.#last.catch(() => undefined);
    try {
      await this.#before();
    } finally {
      this.#coming = undefined;
    }
    const reading = this.#read();
    this.#last = reading;
    return reading;
  }
}
