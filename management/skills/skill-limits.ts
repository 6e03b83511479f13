import { Problem } from '../problem.ts';

export const LIMITS = { bytes: 500 * 1024 * 1024, files: 1000, pathBytes: 1024, depth: 32 } as const;

export function unusable(what: string): Problem {
  return new Problem('bad_request', what);
}

/** Counts a skill and its dependencies together. */
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

  /** @throws Problem `bad_request`, before any of these bytes is written */
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

/** Counts one skill. @throws Problem `bad_request` beyond a limit, before the write */
export class SkillBudget {
  readonly #space: Space;
  #entries = 0;

  constructor(space: Space) {
    this.#space = space;
  }

  addEntry(): void {
    this.#entries += 1;
    if (this.#entries > LIMITS.files) throw unusable(`the skill has more than ${LIMITS.files} files and folders`);
    this.#space.takeEntry();
  }

  addBytes(bytes: number): void {
    this.#space.take(bytes);
  }
}
