import { BlockList, isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/** Returns the client's address. A forwarding header counts only if a trusted proxy wrote it, and then only the proxy's own entry. */
export type ReadSource = (req: IncomingMessage) => string | undefined;

/** `trustedProxies`: CIDRs. */
export function createReadSource(trustedProxies: readonly string[]): ReadSource {
  if (trustedProxies.length === 0) return ({ socket }) => plainAddress(socket.remoteAddress);
  const trusted = new BlockList();
  for (const cidr of trustedProxies) addCidr(trusted, cidr);
  const isTrusted = (address: string): boolean => {
    const family = isIP(address);
    return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
  return (req) => {
    const peer = plainAddress(req.socket.remoteAddress);
    if (peer === undefined || !isTrusted(peer)) return peer;
    const forwarded = req.headers['x-forwarded-for'];
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',').map(addressOf);
    // From the nearest hop outwards, the first untrusted hop is the client. An invalid hop ends the search: earlier ones may be forged.
    const client = hops.reverse().find((hop) => hop === undefined || !isTrusted(hop));
    return client ?? peer;
  };
}

/** Returns an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) as IPv4: dual-stack sockets report IPv4 peers so. */
function plainAddress<T extends string | undefined>(address: T): T | string {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? address;
}

/** Returns the address of a hop. Some proxies also write the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressOf(hop: string): string | undefined {
  const text = hop.trim();
  const address = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : plainAddress(address);
}

function addCidr(list: BlockList, cidr: string): void {
  const [address = '', bits] = cidr.split('/');
  const family = isIP(address);
  list.addSubnet(address, Number(bits ?? (family === 6 ? 128 : 32)), family === 6 ? 'ipv6' : 'ipv4');
}
