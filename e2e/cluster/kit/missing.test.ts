import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Machine, whyNoCluster } from './missing.ts';

const { PATH = '' } = process.env;
const DEBIAN = ['openssl', 'sysctl', 'ip', 'nsenter', 'containerd', 'runc', 'nft', 'iptables', 'conntrack', 'socat'];
let folder: string;
let machine: Machine;

const program = (name: string) => writeFileSync(join(folder, 'bin', name), '#!/bin/sh\n', { mode: 0o755 });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-machine-'));
  mkdirSync(join(folder, 'bin'));
  for (const name of [...DEBIAN, 'busybox', 'go', 'apt-get']) program(name);
  mkdirSync(join(folder, 'cgroup/memory'), { recursive: true });
  writeFileSync(join(folder, 'cgroup/memory/cgroup.procs'), '');
  // Of root in a container that is privileged: all of them.
  const capabilities = (1n << 41n) - 1n;
  machine = { platform: 'linux', uid: 0, capabilities, controlGroups: join(folder, 'cgroup') };
  process.env.PATH = join(folder, 'bin');
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

describe('a machine without what a cluster needs is told so, with what to do', () => {
  it('and one that has all of it can have one', () => {
    expect(whyNoCluster(machine)).toBeUndefined();
  });

  it.each<[string, () => Partial<Machine>, string]>([
    ['another system', () => ({ platform: 'darwin' }), 'needs Linux: its nodes are namespaces of this machine'],
    ['no root', () => ({ uid: 1000 }), 'needs root: run it with sudo'],
    [
      'root of a usual container',
      () => ({ capabilities: 0xa80425fbn }),
      'root has no CAP_NET_ADMIN, CAP_SYS_ADMIN here: start the container with --privileged',
    ],
    [
      'no control groups',
      () => ({ controlGroups: join(folder, 'none') }),
      'needs control groups that can be written, and FOLDER/none has none: start the container with --privileged',
    ],
  ])('%s', (_, change, why) => {
    expect(whyNoCluster({ ...machine, ...change() })).toBe(why.replace('FOLDER', folder));
  });

  it('no Go, and nothing that installs it: by the names of the packages', () => {
    for (const name of ['go', 'runc', 'apt-get']) rmSync(join(folder, 'bin', name));
    const why = whyNoCluster(machine) ?? '';
    expect(why).toMatch(
      /^needs .*\brunc\b.*\bgolang-go, and there is no apt-get: install what these packages of Debian have$/,
    );
    expect(why).not.toContain('containerd,');
  });

  it('no Go, which apt-get installs then', () => {
    for (const name of ['go', 'runc']) rmSync(join(folder, 'bin', name));
    expect(whyNoCluster(machine)).toBeUndefined();
  });

  it('control groups of version 2 are some, too', () => {
    rmSync(join(folder, 'cgroup/memory'), { recursive: true });
    expect(whyNoCluster(machine)).toContain('needs control groups');
    writeFileSync(join(folder, 'cgroup/cgroup.controllers'), 'cpu memory');
    expect(whyNoCluster(machine)).toBeUndefined();
  });
});
