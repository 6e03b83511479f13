import { BlockList, isIP } from 'node:net';

/** Special-purpose ranges (RFC 6890 and its registries), in which no public service has its address. */
const IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
/** Ranges in the global unicast block for tunnels or documentation. */
const IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const refused = new BlockList();
const global = new BlockList();
for (const [net, prefix] of IPV4) {
  refused.addSubnet(net, prefix, 'ipv4');
  // NAT64 (RFC 6052) reaches the IPv4 address in its last 32 bits.
  refused.addSubnet(`64:ff9b::${net}`, 96 + prefix, 'ipv6');
}
for (const [net, prefix] of IPV6) refused.addSubnet(net, prefix, 'ipv6');
global.addSubnet('2000::', 3, 'ipv6');
global.addSubnet('64:ff9b::', 96, 'ipv6');
global.addSubnet('::ffff:0.0.0.0', 96, 'ipv6');

/** Returns whether an address is private, link-local, loopback or otherwise outside of the public internet. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return refused.check(address, 'ipv4');
  return family !== 6 || !global.check(address, 'ipv6') || refused.check(address, 'ipv6');
}

/** Returns the host of a URL if it is a private address; undefined for a name, a public address or an invalid URL. */
export function privateAddressIn(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && isPrivateAddress(host) ? host : undefined;
}

/** Pattern of a URL's host that is loopback without a name lookup. */
export const LOOPBACK_HOST = '(localhost|127([.][0-9]{1,3}){3}|\\[::1\\])';

const WHOLE = new RegExp(`^${LOOPBACK_HOST}$`);

/** Returns whether the host of a parsed URL (WHATWG `hostname`: lower case, IPv6 in brackets) is loopback. */
export function isLoopbackHost(hostname: string): boolean {
  return WHOLE.test(hostname);
}
