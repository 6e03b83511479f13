import { Problem } from '../problem.ts';

/** Each may hold some tens of megabytes that somebody else wrote, for half a minute. */
const MOST_CHECKS = 4;

/** Does a check, or refuses to. @throws Problem `unavailable`, with Retry-After, where too many go on already */
export type CheckLimit = <T>(check: () => Promise<T>) => Promise<T>;

/** Bounds the images of a process whose signatures are looked at together. */
export function limitChecks(most = MOST_CHECKS): CheckLimit {
  let going = 0;
  return async (check) => {
    if (going >= most)
      throw new Problem(
        'unavailable',
        `the signatures of ${most} images are being looked at already: try again later`,
        {
          headers: { 'Retry-After': '5' },
        },
      );
    going += 1;
    try {
      return await check();
    } finally {
      going -= 1;
    }
  };
}
