import { addressBucket, networkBucket } from '#lib/connections/address-bucket';
import { PageError } from '../page-error.ts';
import type { LoginRowSettings } from './login-rows.ts';

/** Share of the pending logins that one address or one network may begin within the lifespan of a login. */
const OF_ADDRESS = 1 / 10;
const OF_NETWORK = 1 / 5;

/** Call it at each begin: a new login replaces the oldest. Logins over an address's limit skip its network's count. @throws PageError */
export async function checkLoginRate(
  { storage, limits }: LoginRowSettings,
  remoteAddress: string | undefined,
): Promise<void> {
  const counted = [
    [addressBucket(remoteAddress), OF_ADDRESS],
    [networkBucket(remoteAddress), OF_NETWORK],
  ] as const;
  for (const [bucket, share] of counted) {
    const count = await storage.count(`login|${bucket}`, limits.pending_login_lifespan);
    if (count > Math.max(Math.ceil(limits.pending_logins * share), 1)) throw tooMany();
  }
}

function tooMany(): PageError {
  return new PageError({
    status: 429,
    title: 'Too many sign-ins from your network',
    text: 'Wait some minutes, then start again from your application.',
  });
}
