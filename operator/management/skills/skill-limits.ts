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
  #used = 0;

  constructor(most: number = LIMITS.bytes) {
    this.most = most;
  }

  get left(): number {
    return this.most - this.#used;
  }

  /** @throws Problem `bad_request`, before anything of them is written */
  take(bytes: number): void {
    if (bytes > this.left) throw this.exceeded();
    this.#used += bytes;
  }

  exceeded(): Problem {
    return unusable(`the skill, with what it needs, has more than ${this.most} bytes`);
  }
}

/** Counts what one skill has. @throws Problem `bad_request` beyond a limit, before anything of it is written */
export class SkillBudget {
  readonly #space: Space;
  #files = 0;

  constructor(space: Space) {
    this.#space = space;
  }

  addFile(): void {
    this.#files += 1;
    if (this.#files > LIMITS.files) throw unusable(`the skill has more than ${LIMITS.files} files and folders`);
  }

  addBytes(bytes: number): void {
    this.#space.take(bytes);
  }
}
