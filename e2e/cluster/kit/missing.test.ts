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
  // The capabilities of root in a privileged container: all of them.
  const capabilities = (1n << 41n) - 1n;
  machine = { platform: 'linux', uid: 0, capabilities, controlGroups: join(folder, 'cgroup') };
  process.env.PATH = join(folder, 'bin');
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

describe('whyNoCluster', () => {
  it('accepts a machine that has everything', () => {
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
  ])('names the problem and the remedy: %s', (_, change, why) => {
    expect(whyNoCluster({ ...machine, ...change() })).toBe(why.replace('FOLDER', folder));
  });

  it('lists the missing packages on a machine without Go and without apt-get', () => {
    for (const name of ['go', 'runc', 'apt-get']) rmSync(join(folder, 'bin', name));
    const why = whyNoCluster(machine) ?? '';
    expect(why).toMatch(
      /^needs .*\brunc\b.*\bgolang-go, and there is no apt-get: install what these packages of Debian have$/,
    );
    expect(why).not.toContain('containerd,');
  });

  it('accepts a machine without Go, as apt-get can install it', () => {
    for (const name of ['go', 'runc']) rmSync(join(folder, 'bin', name));
    expect(whyNoCluster(machine)).toBeUndefined();
  });

  it('accepts control groups of version 2', () => {
    rmSync(join(folder, 'cgroup/memory'), { recursive: true });
    expect(whyNoCluster(machine)).toContain('needs control groups');
    writeFileSync(join(folder, 'cgroup/cgroup.controllers'), 'cpu memory');
    expect(whyNoCluster(machine)).toBeUndefined();
  });
});
