/** Map of at most `capacity` entries. It drops the entry that was set first. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    const oldest = this.keys().next();
    if (this.size >= this.#capacity && oldest.done !== true) this.delete(oldest.value);
    return super.set(key, value);
  }
}
