import { existsSync, readFileSync } from 'node:fs';
import { isInstalled } from '../../redis/is-installed.ts';

/** A program, or a file, and the package of Debian that has it. */
const PACKAGES: Record<string, string> = {
  openssl: 'openssl',
  sysctl: 'procps',
  ip: 'iproute2',
  nsenter: 'util-linux',
  containerd: 'containerd',
  runc: 'runc',
  nft: 'nftables',
  iptables: 'iptables',
  conntrack: 'conntrack',
  socat: 'socat',
  busybox: 'busybox-static',
  '/etc/ssl/certs/ca-certificates.crt': 'ca-certificates',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
};

// capabilities(7): what namespaces, mounts and interfaces need.
const CAPABILITIES = { CAP_NET_ADMIN: 12, CAP_SYS_ADMIN: 21 };

const isThere = (program: string) => (program.startsWith('/') ? existsSync(program) : isInstalled(program));

/** Packages of Debian that are still to be installed. */
export function missingPackages(): string[] {
  return Object.entries(PACKAGES).flatMap(([program, name]) => (isThere(program) ? [] : [name]));
}

function missingCapabilities(): string[] {
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const has = (bit: number) => (BigInt(`0x${mask}`) >> BigInt(bit)) % 2n === 1n;
  return Object.entries(CAPABILITIES).flatMap(([name, bit]) => (has(bit) ? [] : [name]));
}

/** Why no cluster can be brought up on this machine; undefined: one can be. */
export function whyNoCluster(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  const capabilities = missingCapabilities();
  if (capabilities.length > 0) return `root has no ${capabilities.join(', ')} here`;
  const packages = [...missingPackages(), ...(isInstalled('go') ? [] : ['golang-go'])];
  if (packages.length > 0 && !isInstalled('apt-get')) return `needs ${packages.join(', ')}, and there is no apt-get`;
  return undefined;
}
