import { addressBucket, networkBucket } from '#lib/connections/address-bucket';
import { PageError } from '../page-error.ts';
import type { LoginRowSettings } from './login-rows.ts';

/** What of the room that all logins share one address may take, and one network, within the time that a login may take. */
const OF_ADDRESS = 1 / 10;
const OF_NETWORK = 1 / 5;

/**
 * To be called where a login begins: nobody may fill the room, as a new login takes the place of the oldest one. What an address
 * has too many of does not count for its network.
 * @throws PageError
 */
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
