/** Names that belong to users. Each user holds a limited number; the oldest must go. */
export class HeldByUser {
  readonly #most: number;
  readonly #held = new Map<string, Set<string>>();

  constructor(most: number) {
    this.#most = most;
  }

  of(sub: string): readonly string[] {
    return [...(this.#held.get(sub) ?? [])];
  }

  /** Adds a name as the user's youngest. @returns the excess names, which stay until they are removed */
  add(sub: string, held: string): readonly string[] {
    const all = this.#held.get(sub) ?? new Set();
    all.delete(held);
    this.#held.set(sub, all.add(held));
    return [...all].slice(0, Math.max(all.size - this.#most, 0));
  }

  remove(sub: string, held: string): void {
    const all = this.#held.get(sub);
    all?.delete(held);
    if (all?.size === 0) this.#held.delete(sub);
  }
}
