interface Entry {
  weight: number;
  evict: () => void;
}

/** Evicts the least recently used registry, which has a stored copy. */
export class RegistryMemory {
  readonly #most: number;
  readonly #entries = new Map<object, Entry>();
  #weight = 0;

  constructor(most: number) {
    this.#most = most;
  }

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
