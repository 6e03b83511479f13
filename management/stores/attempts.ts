import type { Expected } from '../if-match.ts';
import { Problem } from '../problem.ts';
import { isStale } from './record-store.ts';

const MOST = 8;

/** Bounds a change whatever other writers change meanwhile. */
export class Attempts {
  readonly #name: string;
  #left = MOST;

  constructor(name: string) {
    this.#name = name;
  }

  /** Call it before each attempt except the first. @throws Problem `busy` after the last attempt */
  again(): void {
    this.#left -= 1;
    if (this.#left <= 0) throw new Problem('busy', `"${this.#name}" is being changed all the time: try again`);
  }
}

/** Repeats both after a concurrent change, unless the caller named a version. @throws Problem `busy`, `stale`, what `work` throws */
export async function onWhatIsRead<T>(
  name: string,
  expected: Expected | undefined,
  work: (attempts: Attempts) => Promise<T>,
): Promise<T> {
  const attempts = new Attempts(name);
  for (;;) {
    try {
      return await work(attempts);
    } catch (problem) {
      if (expected !== undefined || !isStale(problem)) throw problem;
      attempts.again();
    }
  }
}
