/** What may be entered in one `UnderWay`; the two links are the list's alone. */
export interface Entry {
  earlier: this | undefined;
  later: this | undefined;
}

/**
 * What is under way now, in the order in which it began. A linked list, not a Set: the tables that a busy Set leaves behind point
 * from one to the next, so that one of them in the old generation keeps the requests of all later ones alive until a full
 * collection. What is taken off here points to nothing any more.
 */
export class UnderWay<T extends Entry> {
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

  /** Those that are under way at the time of the call. */
  all(): T[] {
    const all: T[] = [];
    for (let entry = this.#first; entry !== undefined; entry = entry.later) all.push(entry);
    return all;
  }
}
