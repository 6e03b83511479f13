/** Keepers of less than this are not counted: most answers are small. */
const FREE = 1_048_576;

/** Milliseconds between two looks at what others wait for. What is the same at both is given up. */
const PATIENCE = 30_000;

/** What keeps parts of an answer in memory. */
export interface Keeper {
  /** Name of the backend, or id of the client, that the bytes come from. */
  readonly source: string;
  /** Bytes below which it is not counted. Absent: 1 MiB. */
  readonly free?: number | undefined;
  kept: number;
  /** Reads no more of the answer until `goOn`. Without these two it only gives back what it keeps. */
  wait?(): void;
  goOn?(): void;
  /** Lets go of what it keeps: others have waited for it for too long. */
  giveUp(): void;
}

/**
 * Bounds what is kept of answers that cannot pass as they come. Reading waits once the bound is reached, and no answer is refused
 * for it. One reader at a time may go beyond the bound: readers that wait for each other's memory would wait for ever. One that keeps
 * the others waiting for longer than `PATIENCE` is given up, as are clients that take nothing.
 */
export class KeptBytes {
  #limit: number;
  #used = 0;
  /** Of these, what waits for clients alone. */
  #given = 0;
  readonly #untaken = new Set<Keeper>();
  #beyond: Keeper | undefined;
  /** In the order in which they came. */
  readonly #waiting = new Set<Keeper>();
  #isScheduled = false;
  /** What the readers waited for at the last look. */
  #awaited = new Set<Keeper>();
  #timer: NodeJS.Timeout | undefined;

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
    const counted = bytes > (keeper.free ?? FREE) ? bytes : 0;
    const grown = counted - keeper.kept;
    if (grown === 0) return;
    keeper.kept = counted;
    this.#used += grown;
    if (!keeper.wait) this.#give(keeper, grown);
    if (grown > 0) this.#check(keeper);
    else this.#release(keeper);
  }

  #give(keeper: Keeper, grown: number): void {
    this.#given += grown;
    if (keeper.kept > 0) this.#untaken.add(keeper);
    else this.#untaken.delete(keeper);
  }

  #check(keeper: Keeper): void {
    if (!keeper.wait || this.#used <= this.limit || this.#mayGoBeyond(keeper)) return;
    if (this.#waiting.has(keeper)) return;
    this.#waiting.add(keeper);
    keeper.wait();
    this.#timer ??= setInterval(() => this.#look(), PATIENCE).unref();
  }

  #look(): void {
    const before = this.#awaited;
    this.#awaited = new Set(this.#waiting.size > 0 ? this.#blockers() : []);
    for (const keeper of before) if (this.#awaited.has(keeper)) this.#giveUp(keeper);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What has to end before a waiting reader goes on. */
  #blockers(): Keeper[] {
    const given = this.#given > this.limit ? [...this.#untaken] : [];
    return this.#beyond === undefined ? given : [this.#beyond, ...given];
  }

  /** Others of the same source are likely to be as slow: they come last. */
  #giveUp(keeper: Keeper): void {
    for (const one of [...this.#waiting]) {
      if (one.source !== keeper.source) continue;
      this.#waiting.delete(one);
      this.#waiting.add(one);
    }
    keeper.giveUp();
  }

  /** What waits for clients ends by itself, or is given up: no reader has to go on for it. */
  #mayGoBeyond(keeper: Keeper): boolean {
    if (this.#beyond === undefined && this.#given <= this.limit) this.#beyond = keeper;
    return this.#beyond === keeper;
  }

  #release(keeper: Keeper): void {
    if (keeper.kept === 0) {
      this.#awaited.delete(keeper);
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
