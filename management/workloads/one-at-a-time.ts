import { Problem } from '../problem.ts';

/** How many may wait for the same thing. */
const LONGEST_QUEUE = 500;

/** Work on the same thing one after the other, in this process: what is read is still so when it is written. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, number>();

  /** @throws Problem `busy` when too many wait already */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(name) ?? 0;
    if (waiting >= LONGEST_QUEUE) throw new Problem('busy', `"${name}" is being changed all the time: try again`);
    this.#waiting.set(name, waiting + 1);
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work);
    this.#last.set(
      name,
      turn.catch(() => undefined),
    );
    try {
      return await turn;
    } finally {
      const left = (this.#waiting.get(name) ?? 1) - 1;
      if (left > 0) this.#waiting.set(name, left);
      else for (const map of [this.#waiting, this.#last]) map.delete(name);
    }
  }
}
