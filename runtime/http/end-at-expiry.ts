import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';

const MAX_TIMER = 2_147_483_647;

/**
 * Ends a stream when the token that opened it expires: the client comes back with a fresh one, or not at all. Without it
 * a stream would outlive its caller's right to it.
 */
export function endAtExpiry(res: ServerResponse, { expiresAt }: Identity, now: () => number): void {
  const left = expiresAt - now();
  if (left > MAX_TIMER) return;
  const timer = setTimeout(() => res.end(), Math.max(left, 0));
  res.once('close', () => clearTimeout(timer));
}
