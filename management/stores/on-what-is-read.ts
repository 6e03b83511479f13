import type { Expected } from '../if-match.ts';
import { Attempts } from './attempts.ts';
import { isStale } from './record-store.ts';

/** Repeats both after a concurrent change, unless the caller named a version. @throws Problem `busy`, `stale`, what `work` throws */
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
