/** Users of an entry set `used`. A used entry moves to the end once before it is evicted, so that a hit needs no reordering. */
export class SecondChanceMap<Key, Value extends { used: boolean }> extends Map<Key, Value> {
  #capacity: number;
  readonly #forgotten: ((value: Value) => void) | undefined;

  constructor(capacity: number, forgotten?: (value: Value) => void) {
    super();
    this.#capacity = capacity;
    this.#forgotten = forgotten;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    if (this.size >= this.#capacity) this.#forget(1);
    return super.set(key, value);
  }

  /** Sets the capacity, at least one, and evicts surplus entries at once. */
  resize(capacity: number): void {
    this.#capacity = capacity;
    if (this.size > capacity) this.#forget(this.size - capacity);
  }

  /** Evicts in one pass, which revisits the entries that moved to the end. */
  #forget(count: number): void {
    let left = count;
    for (const [key, value] of this) {
      this.delete(key);
      if (value.used) {
        value.used = false;
        super.set(key, value);
        continue;
      }
      this.#forgotten?.(value);
      left -= 1;
      if (left === 0) return;
    }
  }
}
