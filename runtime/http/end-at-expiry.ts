import type { ServerResponse } from 'node:http';
import { RequestError } from '#runtime/errors';
import type { Authenticator, Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';

const MAX_TIMER = 2_147_483_647;
/** Milliseconds. A stream outlives its caller's authorization by at most 5 s, as a check may see a state that is one second old. */
const LOOK_EVERY = 4_000;

type Judge = Pick<Authenticator, 'authenticate' | 'isAlive'>;

interface StreamClock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly admittedBy: Judge;
  readonly authenticator: () => Judge;
  /** Milliseconds between two checks; absent: 4 s. */
  readonly lookEvery?: number;
}

export function streamClock({ authenticator, latest }: Pick<Services, 'authenticator' | 'latest'>): StreamClock {
  return { now: Date.now, admittedBy: authenticator, authenticator: () => latest().authenticator };
}

/** Ends when the token expires, the login ends, or new settings or keys no longer admit the caller, who reconnects with a fresh token. */
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
    // Checks do not overlap, and an ended stream may take time to close.
    if (isLooking || res.writableEnded) return;
    isLooking = true;
    try {
      if (await isRefused()) res.end();
    } catch {
      // The state is unknown now; the next check tries again.
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), clock.lookEvery ?? LOOK_EVERY);
  res.once('close', () => clearInterval(timer));
}

/** Returns whether another authenticator sees the same caller. Rejects if that authenticator is unavailable. */
async function isAdmitted({ req }: ServerResponse, { key, groups }: Identity, by: Judge): Promise<boolean> {
  try {
    const now = await by.authenticate(req.rawHeaders);
    return now.key === key && now.groups.join('\n') === groups.join('\n');
  } catch (error) {
    if (error instanceof RequestError && error.answer.status < 500) return false;
    throw error;
  }
}
