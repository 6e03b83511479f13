/** What users have, by name: of each user no more than a number, of which the oldest go. */
export class HeldByUser {
  readonly #most: number;
  readonly #held = new Map<string, Set<string>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** The oldest first. */
  of(sub: string): readonly string[] {
    return [...(this.#held.get(sub) ?? [])];
  }

  /** It is the user's youngest now. @returns what has to go for it, which is the user's until it is removed */
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
