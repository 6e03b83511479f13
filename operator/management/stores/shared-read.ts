/**
 * Reads something for all who wait, one time after the other. Who comes while it is read shares the next time, as this one may have
 * missed what its caller did.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #coming: Promise<T> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** Throws what reading throws. */
  next(): Promise<T> {
    this.#coming ??= this.#begin();
    return this.#coming;
  }

  async #begin(): Promise<T> {
    await this.#last.catch(() => undefined);
    this.#coming = undefined;
    const reading = this.#read();
    this.#last = reading;
    return reading;
  }
}
