import type { Expected } from '../if-match.ts';
import { Attempts } from './attempts.ts';
import { isStale } from './record-store.ts';

/**
 * Runs a read and a dependent write, and repeats them after a concurrent change. If the caller named a version, a change makes it stale
 * instead.
 * @param work takes its own further attempts from the given ones
 * @throws Problem `busy` after repeated changes, and what `work` throws
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
