import type { ServerResponse } from 'node:http';
import { RequestError } from '#runtime/errors';
import type { Authenticator, Identity } from '#runtime/incoming/identity';
import type { Rooms } from '#runtime/rooms';

const MAX_TIMER = 2_147_483_647;
/** A stream outlives its caller's right to it by 5 s at most, and what a look sees may be a second old. */
const LOOK_EVERY = 4_000;

type Judge = Pick<Authenticator, 'authenticate' | 'isAlive'>;

/** How a stream finds out that its caller's right to it is over. */
interface StreamClock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Who let the caller in. */
  readonly admittedBy: Judge;
  /** The one in force at the time of the call. */
  readonly authenticator: () => Judge;
  /** Milliseconds between two looks; absent: 4 s. */
  readonly lookEvery?: number;
}

/** The clock of a stream that was opened in these rooms. */
export function streamClock({ authenticator, latest }: Pick<Rooms, 'authenticator' | 'latest'>): StreamClock {
  return { now: Date.now, admittedBy: authenticator, authenticator: () => latest().authenticator };
}

/**
 * Ends a stream when the token that opened it expires, when the login behind it has ended, or when another configuration, or other
 * keys, would not let its caller in as the same: the client comes back with a fresh token, or not at all. Without it a stream
 * would outlive its caller's right to it.
 */
export function endAtExpiry(res: ServerResponse, identity: Identity, clock: StreamClock): void {
  endWhenRefused(res, identity, clock);
  const left = identity.expiresAt - clock.now();
  if (left > MAX_TIMER) return;
  const timer = setTimeout(() => res.end(), Math.max(left, 0));
  res.once('close', () => clearTimeout(timer));
}

function endWhenRefused(res: ServerResponse, identity: Identity, clock: StreamClock): void {
  let { admittedBy } = clock;
  const isRefused = async (): Promise<boolean> => {
    const current = clock.authenticator();
    if (current !== admittedBy) {
      if (!(await isAdmitted(res, identity, current))) return true;
      admittedBy = current;
    }
    return identity.tsid !== undefined && (await current.isAlive?.(identity)) === false;
  };
  let isLooking = false;
  const look = async (): Promise<void> => {
    // A slow look is not doubled, and what has been ended may have a while to go until it is closed.
    if (isLooking || res.writableEnded) return;
    isLooking = true;
    try {
      if (await isRefused()) res.end();
    } catch {
      // Where nobody can tell, the next look may.
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), clock.lookEvery ?? LOOK_EVERY);
  res.once('close', () => clearInterval(timer));
}

/** Whether who opened the stream is the same caller by another authenticator. Rejects where that cannot tell. */
async function isAdmitted({ req }: ServerResponse, { key, groups }: Identity, by: Judge): Promise<boolean> {
  try {
    const now = await by.authenticate(req.rawHeaders);
    return now.key === key && now.groups.join('\n') === groups.join('\n');
  } catch (error) {
    if (error instanceof RequestError && error.answer.status < 500) return false;
    throw error;
  }
}
