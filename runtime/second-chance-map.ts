/**
 * A map of at most `capacity` entries. Who uses an entry sets its mark; one that is marked goes to the back of the line once before it
 * is forgotten, so that a hit costs no reordering.
 */
export class SecondChanceMap<Key, Value extends { used: boolean }> extends Map<Key, Value> {
  #capacity: number;
  readonly #forgotten: ((value: Value) => void) | undefined;

  /** `forgotten` is told of what has to make room. */
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

  /** From now on it has at most so many, at least one: those that are too many are forgotten at once. */
  resize(capacity: number): void {
    this.#capacity = capacity;
    if (this.size > capacity) this.#forget(this.size - capacity);
  }

  /** In one pass, which comes to those again that went to the back. */
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
