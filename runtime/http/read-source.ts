import { BlockList, isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { ConfigError } from '#runtime/errors';

/** The client's address. A forwarding header counts only where a trusted proxy wrote it, and only its own entry. */
export type ReadSource = (req: IncomingMessage) => string | undefined;

/** `trustedProxies`: CIDRs. @throws ConfigError for what is no CIDR */
export function createReadSource(trustedProxies: readonly string[]): ReadSource {
  if (trustedProxies.length === 0) return (req) => req.socket.remoteAddress;
  const trusted = new BlockList();
  for (const cidr of trustedProxies) addCidr(trusted, cidr);
  const isTrusted = (address: string): boolean => {
    const plain = address.replace(/^::ffff:/, '');
    const family = isIP(plain);
    return family !== 0 && trusted.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
  return (req) => {
    const peer = req.socket.remoteAddress;
    if (peer === undefined || !isTrusted(peer)) return peer;
    const forwarded = req.headers['x-forwarded-for'];
    const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',').map(addressOf);
    // From the nearest hop outwards: the first one that is no proxy of ours is the client. One that says nothing ends the search,
    // as the client may have made up what stands before it.
    const client = hops.reverse().find((hop) => hop === undefined || !isTrusted(hop));
    return client ?? peer;
  };
}

/** Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressOf(hop: string): string | undefined {
  const text = hop.trim();
  const address = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : address;
}

function addCidr(list: BlockList, cidr: string): void {
  const [address = '', bits] = cidr.split('/');
  const family = isIP(address);
  const longest = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? longest : Number(bits);
  if (family === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > longest) {
    throw new ConfigError(`trusted_proxies: ${cidr} is no address range; write one like 10.0.0.0/8`);
  }
  list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
}
