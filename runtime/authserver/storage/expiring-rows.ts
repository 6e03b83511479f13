interface Entry<Row> {
  readonly row: Row;
  readonly endsAt: number;
}

const WRITES_BETWEEN_SWEEPS = 64;

/** Rows in memory with an end time. Expired rows are invisible and are removed during later operations. */
export class ExpiringRows<Row> {
  readonly #now: () => number;
  readonly #onEnd: (id: string, row: Row) => void;
  readonly #entries = new Map<string, Entry<Row>>();
  #earliest = Infinity;
  #writes = 0;

  /** `onEnd` is called for expired rows; it must not add rows. */
  constructor(now: () => number, onEnd: (id: string, row: Row) => void = () => undefined) {
    this.#now = now;
    this.#onEnd = onEnd;
  }

  get(id: string): Row | undefined {
    return this.#alive(id)?.row;
  }

  /** Returns milliseconds since the epoch, or undefined when the row does not exist. */
  endOf(id: string): number | undefined {
    return this.#alive(id)?.endsAt;
  }

  /** Writes a row and makes it the youngest. */
  set(id: string, row: Row, endsAt: number): void {
    this.#entries.delete(id);
    this.#entries.set(id, { row, endsAt });
    this.#earliest = Math.min(this.#earliest, endsAt);
    this.#writes += 1;
    // Amortizes the sweep: one or two steps per write.
    if (this.#writes >= Math.max(WRITES_BETWEEN_SWEEPS, this.#entries.size)) this.#sweep();
  }

  /** Changes the content of a row, and neither its end nor its age. */
  replace(id: string, row: Row): void {
    const entry = this.#alive(id);
    if (entry) this.#entries.set(id, { row, endsAt: entry.endsAt });
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  fits(id: string, capacity: number): boolean {
    if (this.#entries.size < capacity || this.#alive(id)) return true;
    this.#sweep();
    return this.#entries.size < capacity;
  }

  evictFor(id: string, capacity: number, drop: (oldest: string) => void = (oldest) => this.delete(oldest)): void {
    while (!this.fits(id, capacity)) {
      const oldest = this.#entries.keys().next().value;
      if (oldest === undefined) return;
      drop(oldest);
    }
  }

  /** Moves the end of a row to `endsAt` if it is earlier, and makes the row the youngest. */
  lengthen(id: string, endsAt: number): void {
    const entry = this.#alive(id);
    if (entry && entry.endsAt < endsAt) this.set(id, entry.row, endsAt);
  }

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
