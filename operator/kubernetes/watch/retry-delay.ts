import { ApiError, isStatus } from '../api/api-error.ts';

/** Milliseconds before the second attempt; they double with each further one. */
const FIRST_DELAY = 800;
const LONGEST_DELAY = 30_000;
/** While nobody answers at all: an attempt costs next to nothing then, and what waits for its end are people's edits. */
const LONGEST_WHILE_AWAY = 4000;

/** How attempts at the same thing have failed in a row. */
export interface Failures {
  count: number;
  /** Nobody answered the last one. */
  away: boolean;
}

/** The failures with one more. An API server that is there again, or has gone, is a new situation, and counted anew. */
export function countFailure({ count, away }: Failures, problem: unknown): Failures {
  const now = problem instanceof ApiError && problem.isAway;
  return { count: now === away ? count + 1 : 1, away: now };
}

/**
 * Milliseconds until the next attempt. What the server asks for counts where it is longer; what has expired is asked for at
 * once, unless that happens again and again. `random` is between 0 and 1.
 */
export function retryDelay(problem: unknown, { count, away }: Failures, random: number): number {
  const failures = count - (isStatus(problem, 410) ? 1 : 0);
  const longest = away ? LONGEST_WHILE_AWAY : LONGEST_DELAY;
  const exponential = failures < 1 ? 0 : Math.min(FIRST_DELAY * 2 ** (failures - 1), longest) * (0.5 + random);
  const asked = problem instanceof ApiError ? (problem.retryAfter ?? 0) : 0;
  return Math.round(Math.max(exponential, Math.min(asked, LONGEST_DELAY)));
}
