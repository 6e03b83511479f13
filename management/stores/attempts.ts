import { Problem } from '../problem.ts';

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
