/** Bytes up to which a keeper is not counted, because most answers are small. */
const FREE = 1_048_576;

/** Milliseconds between two checks. A keeper that blocks others at two consecutive checks is ended. */
const PATIENCE = 30_000;

export interface Keeper {
  /** Name of the backend, or id of the client. */
  readonly source: string;
  /** Uncounted bytes. Absent: 1 MiB. */
  readonly free?: number | undefined;
  kept: number;
  /** Pauses reading until `goOn`. Without both, a keeper only releases its bytes. */
  wait?(): void;
  goOn?(): void;
  giveUp(): void;
}

/**
 * Readers pause at the limit, and no answer is refused. One reader may exceed the limit: readers that wait for each other would deadlock.
 * Readers that block others for longer than `PATIENCE` are ended, and so are clients that do not read.
 */
export class BufferedBytes {
  #limit: number;
  #used = 0;
  /** The part of `#used` that waits only for clients. */
  #given = 0;
  readonly #untaken = new Set<Keeper>();
  #beyond: Keeper | undefined;
  readonly #waiting = new Set<Keeper>();
  #isScheduled = false;
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

  get waiting(): number {
    return this.#waiting.size;
  }

  /** May call `wait` before it returns. */
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

  #blockers(): Keeper[] {
    const given = this.#given > this.limit ? [...this.#untaken] : [];
    return this.#beyond === undefined ? given : [this.#beyond, ...given];
  }

  /** Readers of the same source move to the end of the queue, because they are likely to be as slow. */
  #giveUp(keeper: Keeper): void {
    for (const one of [...this.#waiting]) {
      if (one.source !== keeper.source) continue;
      this.#waiting.delete(one);
      this.#waiting.add(one);
    }
    keeper.giveUp();
  }

  /** Only one reader may exceed the limit, and none while clients' bytes do: clients read them or are ended. */
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

  /** Runs in a microtask, because an HTTP parser accepts no call while another parser runs. */
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
