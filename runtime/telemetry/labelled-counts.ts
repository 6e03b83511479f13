/** Counts by name and up to two labels, incremented in place. */
export class LabelledCounts {
  readonly #byName = new Map<string, Map<string, Map<string, { value: number }>>>();

  add(name: string, first: string, second = ''): void {
    const count = this.#byName.get(name)?.get(first)?.get(second);
    if (count !== undefined) count.value++;
    else this.#begin(name, first, second);
  }

  *entries(name: string): Generator<{ first: string; second: string; value: number }> {
    for (const [first, seconds] of this.#byName.get(name) ?? []) {
      for (const [second, { value }] of seconds) yield { first, second, value };
    }
  }

  retain(name: string, firsts: ReadonlySet<string>): void {
    const labels = this.#byName.get(name);
    for (const first of labels?.keys() ?? []) if (!firsts.has(first)) labels?.delete(first);
  }

  #begin(name: string, first: string, second: string): void {
    const firsts = this.#byName.get(name) ?? new Map<string, Map<string, { value: number }>>();
    const seconds = firsts.get(first) ?? new Map<string, { value: number }>();
    this.#byName.set(name, firsts.set(first, seconds.set(second, { value: 1 })));
  }
}
