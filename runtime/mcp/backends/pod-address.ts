import { BlockList, isIP } from 'node:net';

/** Loopback, link-local and multicast (RFC 6890). No pod has such an address, and services there may trust any connection. */
const NO_PODS: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

const refused = new BlockList();
for (const [net, prefix, family] of NO_PODS) refused.addSubnet(net, prefix, family);

/** Name servers may return any address. */
export function isPodAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !refused.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
