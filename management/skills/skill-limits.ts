import { Problem } from '../problem.ts';

/** What a skill may have at most. */
export const LIMITS = { bytes: 500 * 1024 * 1024, files: 1000, pathBytes: 1024, depth: 32 } as const;

/** Something about a skill that its author has to mend. */
export function unusable(what: string): Problem {
  return new Problem('bad_request', what);
}

/** Bytes that may be written for a skill and all that it needs, together. */
export class Space {
  readonly most: number;
  readonly #entry: number;
  #used = 0;

  /** @param entry bytes that each file or folder costs beside its content */
  constructor(most: number = LIMITS.bytes, entry = 0) {
    this.most = most;
    this.#entry = entry;
  }

  get left(): number {
    return this.most - this.#used;
  }

  /** @throws Problem `bad_request`, before anything of them is written */
  take(bytes: number): void {
    if (bytes > this.left) throw this.exceeded();
    this.#used += bytes;
  }

  takeEntry(): void {
    this.take(this.#entry);
  }

  exceeded(): Problem {
    return unusable(`the skill, with what it needs, has more than ${this.most} bytes`);
  }
}

/** Counts what one skill has. @throws Problem `bad_request` beyond a limit, before anything of it is written */
export class SkillBudget {
  readonly #space: Space;
  #entries = 0;

  constructor(space: Space) {
    this.#space = space;
  }

  /** A file or a folder. */
  addEntry(): void {
    this.#entries += 1;
    if (this.#entries > LIMITS.files) throw unusable(`the skill has more than ${LIMITS.files} files and folders`);
    this.#space.takeEntry();
  }

  addBytes(bytes: number): void {
    this.#space.take(bytes);
  }
}
