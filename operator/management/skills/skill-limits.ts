import { Problem } from '../problem.ts';

/** What a skill may have at most. */
export const LIMITS = { bytes: 500 * 1024 * 1024, files: 1000, pathBytes: 1024, depth: 32 } as const;

/** Something about a skill that its author has to mend. */
export function unusable(what: string): Problem {
  return new Problem('bad_request', what);
}

/** Counts what a skill has. @throws Problem `bad_request` beyond a limit, before anything of it is written */
export class SkillBudget {
  #bytes = 0;
  #files = 0;

  addFile(): void {
    this.#files += 1;
    if (this.#files > LIMITS.files) throw unusable(`the skill has more than ${LIMITS.files} files and folders`);
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > LIMITS.bytes) throw unusable(`the skill has more than ${LIMITS.bytes} bytes`);
  }
}
