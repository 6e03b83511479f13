import { CallerQuota } from '../caller-quota.ts';

/** Each may hold some tens of megabytes that somebody else wrote, for half a minute. */
export const MOST_CHECKS = 4;
/** Of one caller, where there are several. */
export const CHECKS_OF_ONE = 2;

/**
 * Does a check for a caller, or refuses to.
 * @throws Problem with Retry-After, where too many go on already: `too_many_requests` of this caller, `unavailable` of all
 */
export type CheckLimit = <T>(who: string, check: () => Promise<T>) => Promise<T>;

/** Bounds the images of a process whose signatures are looked at together; `perKey`: for one caller. */
export function limitChecks(perKey = MOST_CHECKS): CheckLimit {
  const quota = new CallerQuota({
    total: MOST_CHECKS,
    perKey,
    tell: (count) => `the signatures of ${count} images are being looked at`,
  });
  return async (who, check) => {
    const release = quota.take(who);
    try {
      return await check();
    } finally {
      release();
    }
  };
}
