import { Problem } from '../problem.ts';

const MOST = 8;

/** Limits the attempts of one change, whatever other writers change meanwhile. */
export class Attempts {
  readonly #name: string;
  #left = MOST;

  /** @param name name of the changed object */
  constructor(name: string) {
    this.#name = name;
  }

  /** Call it before each attempt except the first. @throws Problem `busy` after the last attempt */
  again(): void {
    this.#left -= 1;
    if (this.#left <= 0) throw new Problem('busy', `"${this.#name}" is being changed all the time: try again`);
  }
}
