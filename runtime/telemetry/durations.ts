/** Upper bounds in seconds: from the overhead of the gateway to calls of ten minutes. */
const BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const;

/** Histogram of durations of one kind. Recording allocates nothing and costs about ten nanoseconds. */
export class Durations {
  readonly #counts = new Float64Array(BOUNDS.length + 1);
  #sum = 0;

  note(milliseconds: number): void {
    const seconds = milliseconds / 1000;
    let bucket = 0;
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += seconds;
  }

  render(name: string, labels: string): string[] {
    const lines: string[] = [];
    let count = 0;
    for (const [index, inBucket] of this.#counts.entries()) {
      count += inBucket;
      lines.push(`${name}_bucket{${labels},le="${BOUNDS[index] ?? '+Inf'}"} ${count}`);
    }
    return [...lines, `${name}_sum{${labels}} ${this.#sum}`, `${name}_count{${labels}} ${count}`];
  }
}
