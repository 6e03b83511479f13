import { Problem } from '../problem.ts';

const MOST = 8;

/** How often one change is tried, whatever others changed in between. */
export class Attempts {
  readonly #name: string;
  #left = MOST;

  /** @param name of what is changed */
  constructor(name: string) {
    this.#name = name;
  }

  /** Before each attempt but the first. @throws Problem `busy` when there were enough */
  again(): void {
    this.#left -= 1;
    if (this.#left <= 0) throw new Problem('busy', `"${this.#name}" is being changed all the time: try again`);
  }
}
