import { BlockList, isIP } from 'node:net';

/** This machine, its link, and many at once (RFC 6890): no pod has such an address, and what answers there may trust whoever comes. */
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

/** Whether a pod may be at the address, as far as the address says it: whoever answers for names may answer anything. */
export function isPodAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !refused.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
