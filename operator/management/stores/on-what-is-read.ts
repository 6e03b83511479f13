import type { Expected } from '../if-match.ts';
import { Problem } from '../problem.ts';

const ATTEMPTS = 5;

export const isStale = (problem: unknown): boolean => problem instanceof Problem && problem.code === 'stale';

/**
 * Runs what reads something and writes it back; once more when somebody else wrote in between, unless the caller named the version
 * that is meant: who named none has nothing that could be stale.
 * @throws Problem `busy` when that happens again and again, and what `work` throws
 */
export async function onWhatIsRead<T>(
  name: string,
  expected: Expected | undefined,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; tries <= ATTEMPTS; tries += 1) {
    try {
      return await work();
    } catch (problem) {
      if (expected !== undefined || !isStale(problem)) throw problem;
    }
  }
  throw new Problem('busy', `"${name}" is being changed all the time: try again`);
}
