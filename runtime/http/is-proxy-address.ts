import type { IncomingMessage } from 'node:http';
import { isPrivateAddress } from '#crds/parts/private-address';

const FORWARDING = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const;

/** A private peer that sends forwarding headers is an untrusted proxy. `source`: the effective address. */
export function isProxyAddress({ socket, headers }: IncomingMessage, source: string | undefined): boolean {
  if (source === undefined || !FORWARDING.some((name) => headers[name] !== undefined)) return false;
  // If they differ, a trusted proxy's headers were used, and the address is the client's.
  return isPrivateAddress(source) && socket.remoteAddress?.replace(/^::ffff:/i, '') === source;
}
