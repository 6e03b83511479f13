/** Only the list uses the two links; a removed entry has none. */
export interface Entry {
  earlier: this | undefined;
  later: this | undefined;
}

/** A linked list: a busy Set's former tables are chained, and one in the old generation keeps later requests alive until a full GC. */
export class InFlight<T extends Entry> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(entry: T): boolean {
    return entry.earlier !== undefined || this.#first === entry;
  }

  add(entry: T): void {
    if (this.has(entry)) return;
    entry.earlier = this.#last;
    if (this.#last) this.#last.later = entry;
    else this.#first = entry;
    this.#last = entry;
    this.#size++;
  }

  delete(entry: T): void {
    if (!this.has(entry)) return;
    const { earlier, later } = entry;
    if (earlier) earlier.later = later;
    else this.#first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    entry.earlier = undefined;
    entry.later = undefined;
    this.#size--;
  }

  all(): T[] {
    const all: T[] = [];
    for (let entry = this.#first; entry !== undefined; entry = entry.later) all.push(entry);
    return all;
  }
}
