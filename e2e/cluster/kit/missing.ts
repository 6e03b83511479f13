import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isInstalled } from '../../redis/is-installed.ts';

/** A program or a file, and its Debian package. */
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

// capabilities(7): namespaces, mounts and interfaces need these.
const CAPABILITIES = { CAP_NET_ADMIN: 12, CAP_SYS_ADMIN: 21 };

const isThere = (program: string) => (program.startsWith('/') ? existsSync(program) : isInstalled(program));

/** Returns the Debian packages that are still missing. */
export function missingPackages(): string[] {
  return Object.entries(PACKAGES).flatMap(([program, name]) => (isThere(program) ? [] : [name]));
}

/** The properties of a machine that a cluster of its processes needs. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  /** User id of this process. */
  readonly uid: number | undefined;
  /** Mask of its effective capabilities. */
  readonly capabilities: bigint;
  /** Folder of the control groups. */
  readonly controlGroups: string;
}

function thisMachine(): Machine {
  const { platform } = process;
  const [, mask = '0'] =
    platform === 'linux' ? (/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []) : [];
  return { platform, uid: process.getuid?.(), capabilities: BigInt(`0x${mask}`), controlGroups: '/sys/fs/cgroup' };
}

const canWrite = (folder: string) => {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Returns whether there are control groups of version 2, or the memory controller of version 1. */
const hasControlGroups = (folder: string) =>
  ['cgroup.controllers', 'memory/cgroup.procs'].some(
    (file) => canWrite(dirname(join(folder, file))) && existsSync(join(folder, file)),
  );

/** Returns the reason why this machine cannot run a cluster, with the remedy; undefined if it can. */
export function whyNoCluster(machine: Machine = thisMachine()): string | undefined {
  const { platform, uid, capabilities, controlGroups } = machine;
  if (platform !== 'linux') return 'needs Linux: its nodes are namespaces of this machine';
  if (uid !== 0) return 'needs root: run it with sudo';
  const has = (bit: number) => (capabilities >> BigInt(bit)) % 2n === 1n;
  const missing = Object.entries(CAPABILITIES).flatMap(([name, bit]) => (has(bit) ? [] : [name]));
  if (missing.length > 0) return `root has no ${missing.join(', ')} here: start the container with --privileged`;
  if (!hasControlGroups(controlGroups))
    return `needs control groups that can be written, and ${controlGroups} has none: start the container with --privileged`;
  const packages = [...missingPackages(), ...(isInstalled('go') ? [] : ['golang-go'])];
  if (packages.length > 0 && !isInstalled('apt-get'))
    return `needs ${packages.join(', ')}, and there is no apt-get: install what these packages of Debian have`;
  return undefined;
}
