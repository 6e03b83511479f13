/**
 * A map of at most `capacity` entries. Who uses an entry sets its mark; one that is marked goes to the back of the line once before it
 * is forgotten, so that a hit costs no reordering.
 */
export class SecondChanceMap<Key, Value extends { used: boolean }> extends Map<Key, Value> {
  readonly #capacity: number;
  readonly #forgotten: ((value: Value) => void) | undefined;

  /** `forgotten` is told of what has to make room. */
  constructor(capacity: number, forgotten?: (value: Value) => void) {
    super();
    this.#capacity = capacity;
    this.#forgotten = forgotten;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    if (this.size >= this.#capacity) this.#forgetOne();
    return super.set(key, value);
  }

  #forgetOne(): void {
    for (const [key, value] of this) {
      this.delete(key);
      if (!value.used) {
        this.#forgotten?.(value);
        return;
      }
      value.used = false;
      super.set(key, value);
    }
  }
}
