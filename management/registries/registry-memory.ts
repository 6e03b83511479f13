interface Entry {
  weight: number;
  evict: () => void;
}

/** Limits the memory of registries by evicting the least recently used one, which has a stored copy. */
export class RegistryMemory {
  readonly #most: number;
  /** Ordered from the least to the most recently used entry. */
  readonly #entries = new Map<object, Entry>();
  #weight = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Replaces the entry of an owner and evicts others until the limit is met. */
  set(owner: object, weight: number, evict: () => void): void {
    this.delete(owner);
    this.#entries.set(owner, { weight, evict });
    this.#weight += weight;
    for (const [other, entry] of this.#entries) {
      if (this.#weight <= this.#most || other === owner) return;
      this.delete(other);
      entry.evict();
    }
  }

  /** Makes the entry the most recently used one. */
  touch(owner: object): void {
    const entry = this.#entries.get(owner);
    if (!entry) return;
    this.#entries.delete(owner);
    this.#entries.set(owner, entry);
  }

  delete(owner: object): void {
    this.#weight -= this.#entries.get(owner)?.weight ?? 0;
    this.#entries.delete(owner);
  }
}
