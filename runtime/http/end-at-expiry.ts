import type { ServerResponse } from 'node:http';
import type { Authenticator, Identity } from '#runtime/incoming/identity';

const MAX_TIMER = 2_147_483_647;
/** A stream outlives the login behind its token by 5 s at most, and what a look sees may be a second old. */
const LOOK_EVERY = 4_000;

/** How a stream finds out that its caller's right to it is over. */
export interface StreamClock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The one in force at the time of the call. */
  readonly authenticator: () => Pick<Authenticator, 'isAlive'>;
  /** Milliseconds between two looks at the login; absent: 4 s. */
  readonly lookEvery?: number;
}

/**
 * Ends a stream when the token that opened it expires, or when the login behind it has ended: the client comes back with a fresh
 * one, or not at all. Without it a stream would outlive its caller's right to it.
 */
export function endAtExpiry(res: ServerResponse, identity: Identity, clock: StreamClock): void {
  endWithLogin(res, identity, clock);
  const left = identity.expiresAt - clock.now();
  if (left > MAX_TIMER) return;
  const timer = setTimeout(() => res.end(), Math.max(left, 0));
  res.once('close', () => clearTimeout(timer));
}

function endWithLogin(res: ServerResponse, identity: Identity, { authenticator, lookEvery }: StreamClock): void {
  if (identity.tsid === undefined) return;
  const look = async (): Promise<void> => {
    if ((await authenticator().isAlive?.(identity)) === false) res.end();
  };
  // Where nobody can tell, the next look may.
  const timer = setInterval(() => void look().catch(() => undefined), lookEvery ?? LOOK_EVERY);
  res.once('close', () => clearInterval(timer));
}
