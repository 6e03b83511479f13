interface Entry<Row> {
  readonly row: Row;
  readonly endsAt: number;
}

const WRITES_BETWEEN_SWEEPS = 64;

/** Rows in memory that end by themselves. Those that are over are never seen, and are dropped in passing. */
export class ExpiringRows<Row> {
  readonly #now: () => number;
  readonly #onEnd: (id: string, row: Row) => void;
  readonly #entries = new Map<string, Entry<Row>>();
  /** No row ends before. */
  #earliest = Infinity;
  #writes = 0;

  /** `onEnd` hears of rows that ended by themselves; it adds none. */
  constructor(now: () => number, onEnd: (id: string, row: Row) => void = () => undefined) {
    this.#now = now;
    this.#onEnd = onEnd;
  }

  get(id: string): Row | undefined {
    return this.#alive(id)?.row;
  }

  /** Milliseconds since the epoch; undefined: no such row. */
  endOf(id: string): number | undefined {
    return this.#alive(id)?.endsAt;
  }

  /** Writes a row and makes it the youngest. */
  set(id: string, row: Row, endsAt: number): void {
    this.#entries.delete(id);
    this.#entries.set(id, { row, endsAt });
    this.#earliest = Math.min(this.#earliest, endsAt);
    this.#writes += 1;
    // So a sweep costs each write a step or two.
    if (this.#writes >= Math.max(WRITES_BETWEEN_SWEEPS, this.#entries.size)) this.#sweep();
  }

  /** Changes what a row holds: neither its end nor its age. */
  replace(id: string, row: Row): void {
    const entry = this.#alive(id);
    if (entry) this.#entries.set(id, { row, endsAt: entry.endsAt });
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  /** Whether there is room for this row without another's going. */
  fits(id: string, capacity: number): boolean {
    if (this.#entries.size < capacity || this.#alive(id)) return true;
    this.#sweep();
    return this.#entries.size < capacity;
  }

  /** Drops the oldest rows until there is room for this one. */
  makeRoom(id: string, capacity: number, drop: (oldest: string) => void = (oldest) => this.delete(oldest)): void {
    while (!this.fits(id, capacity)) {
      const oldest = this.#entries.keys().next().value;
      if (oldest === undefined) return;
      drop(oldest);
    }
  }

  /** Where it ends before `endsAt`, it ends then and is the youngest now. */
  lengthen(id: string, endsAt: number): void {
    const entry = this.#alive(id);
    if (entry && entry.endsAt < endsAt) this.set(id, entry.row, endsAt);
  }

  /** The rows that are alive. */
  *rows(): Generator<Row> {
    this.#sweep();
    for (const { row } of this.#entries.values()) yield row;
  }

  get size(): number {
    this.#sweep();
    return this.#entries.size;
  }

  #alive(id: string): Entry<Row> | undefined {
    const entry = this.#entries.get(id);
    if (!entry || entry.endsAt > this.#now()) return entry;
    this.#end(id, entry.row);
    return undefined;
  }

  #sweep(): void {
    this.#writes = 0;
    const now = this.#now();
    if (this.#earliest > now) return;
    let earliest = Infinity;
    for (const [id, { row, endsAt }] of this.#entries) {
      if (endsAt <= now) this.#end(id, row);
      else earliest = Math.min(earliest, endsAt);
    }
    this.#earliest = earliest;
  }

  #end(id: string, row: Row): void {
    this.#entries.delete(id);
    this.#onEnd(id, row);
  }
}
