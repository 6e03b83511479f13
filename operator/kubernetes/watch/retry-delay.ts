import { ApiError, isStatus } from '../api/api-error.ts';

/** Milliseconds before the second attempt; they double with each further one. */
const FIRST_DELAY = 800;
const LONGEST_DELAY = 30_000;
/** Longest delay while the API server does not answer: an attempt is cheap, and edits of users wait for its return. */
const LONGEST_WHILE_AWAY = 4000;

export interface Failures {
  count: number;
  away: boolean;
}

/** Counts one more failure. Restarts the count when the API server goes away or returns. */
export function countFailure({ count, away }: Failures, problem: unknown): Failures {
  const now = problem instanceof ApiError && problem.isAway;
  return { count: now === away ? count + 1 : 1, away: now };
}

/** Returns milliseconds. A longer Retry-After wins. An expired version is retried at once, unless that repeats. `random`: 0 to 1. */
export function retryDelay(problem: unknown, { count, away }: Failures, random: number): number {
  const failures = count - (isStatus(problem, 410) ? 1 : 0);
  const longest = away ? LONGEST_WHILE_AWAY : LONGEST_DELAY;
  const exponential = failures < 1 ? 0 : Math.min(FIRST_DELAY * 2 ** (failures - 1), longest) * (0.5 + random);
  const asked = problem instanceof ApiError ? (problem.retryAfter ?? 0) : 0;
  return Math.round(Math.max(exponential, Math.min(asked, LONGEST_DELAY)));
}
