/** Keepers of less than this are not counted: most answers are small. */
const FREE = 1_048_576;

/** What keeps parts of an answer in memory. */
export interface Keeper {
  kept: number;
  /** Reads no more of the answer until `goOn`. Without these two it only gives back what it keeps. */
  wait?(): void;
  goOn?(): void;
}

/**
 * Bounds what is kept of answers that cannot pass as they come. Reading waits once the bound is reached, and no answer is refused
 * for it. One reader at a time may go beyond the bound: readers that wait for each other's memory would wait for ever.
 */
export class KeptBytes {
  #limit: number;
  #used = 0;
  /** Of these, what waits for clients alone. */
  #given = 0;
  #beyond: Keeper | undefined;
  /** In the order in which they came. */
  readonly #waiting = new Set<Keeper>();
  #isScheduled = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes. */
  get limit(): number {
    return this.#limit;
  }

  set limit(bytes: number) {
    this.#limit = bytes;
    this.#schedule();
  }

  get used(): number {
    return this.#used;
  }

  /** Readers that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The keeper now keeps this many bytes. It may be told to wait before this returns. */
  tell(keeper: Keeper, bytes: number): void {
    const counted = bytes > FREE ? bytes : 0;
    const grown = counted - keeper.kept;
    if (grown === 0) return;
    keeper.kept = counted;
    this.#used += grown;
    if (!keeper.wait) this.#given += grown;
    if (grown > 0) this.#check(keeper);
    else this.#release(keeper);
  }

  #check(keeper: Keeper): void {
    if (!keeper.wait || this.#used <= this.limit || this.#mayGoBeyond(keeper)) return;
    if (this.#waiting.has(keeper)) return;
    this.#waiting.add(keeper);
    keeper.wait();
  }

  /** What waits for clients ends by itself, with their deadlines: no reader has to go on for it. */
  #mayGoBeyond(keeper: Keeper): boolean {
    if (this.#beyond === undefined && this.#given <= this.limit) this.#beyond = keeper;
    return this.#beyond === keeper;
  }

  #release(keeper: Keeper): void {
    if (keeper.kept === 0) {
      this.#waiting.delete(keeper);
      if (this.#beyond === keeper) this.#beyond = undefined;
    }
    this.#schedule();
  }

  /** Not at once: an HTTP parser takes no call while another one is at work. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#letGo();
    });
  }

  #letGo(): void {
    for (const next of this.#waiting) {
      if (this.#used > this.limit && !this.#mayGoBeyond(next)) return;
      this.#waiting.delete(next);
      next.goOn?.();
    }
  }
}
