import { CallerQuota } from '../caller-quota.ts';

/** Each check may hold some tens of megabytes of untrusted data for half a minute. */
export const MOST_CHECKS = 4;
/** Limit per caller if there are several callers. */
export const CHECKS_OF_ONE = 2;

/** @throws Problem with Retry-After if too many checks run: `too_many_requests` for this caller, `unavailable` for all */
export type CheckLimit = <T>(who: string, check: () => Promise<T>) => Promise<T>;

/** `perKey` limits one caller. */
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
