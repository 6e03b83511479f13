import type { Expected } from '../if-match.ts';
import { Attempts } from './attempts.ts';
import { isStale } from './record-store.ts';

/**
 * Runs what reads something and writes it back; once more when somebody else wrote in between, unless the caller named the version
 * that is meant: who named none has nothing that could be stale.
 * @param work takes its own new attempts from those that it is given
 * @throws Problem `busy` when that happens again and again, and what `work` throws
 */
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
