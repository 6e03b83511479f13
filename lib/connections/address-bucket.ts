import { isIPv6 } from 'node:net';

/** Returns the key of limits per address: the IPv4 address, or the /64 of an IPv6 address, because a /64 belongs to one subscriber. */
export function addressBucket(address: string | undefined): string {
  return bucketOf(address, { v4: 4, v6: 4 });
}

/** Returns the key of limits per network: the /24 or /48 around an address, which are the smallest routed networks. */
export function networkBucket(address: string | undefined): string {
  return bucketOf(address, { v4: 3, v6: 3 });
}

/** `groups`: number of bytes of an IPv4 address, number of 16-bit groups of an IPv6 address. */
function bucketOf(address: string | undefined, groups: { readonly v4: number; readonly v6: number }): string {
  if (address === undefined) return 'unknown';
  const [plain = ''] = address.split('%', 1);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined || !isIPv6(plain)) return ipv4Bucket(mapped ?? plain, groups.v4);
  const first = groupsOf(plain).slice(0, groups.v6);
  return `${first.join(':')}::/${groups.v6 * 16}`;
}

function ipv4Bucket(address: string, bytes: number): string {
  if (bytes === 4) return address;
  return `${address.split('.').slice(0, bytes).join('.')}.0/${bytes * 8}`;
}

/** Returns the eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): readonly string[] {
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - behind.length;
  const all = [...groups, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...behind];
  return all.map((group) => parseInt(group, 16).toString(16));
}
