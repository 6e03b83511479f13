import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findHostAddress } from './find-host-address.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-podman-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a podman that reports this version and network. */
function podman(version: string, rootless: boolean, network = '[{"subnets":[{"gateway":"10.88.0.1"}]}]'): string {
  const info = JSON.stringify({ version: { Version: version }, host: { security: { rootless } } });
  const script = `#!/bin/sh\ncase "$1" in info) echo '${info}' ;; network) echo '${network}' ;; esac\n`;
  writeFileSync(join(folder, 'podman'), script);
  chmodSync(join(folder, 'podman'), 0o755);
  return `${folder}:/usr/bin:/bin`;
}

describe('findHostAddress', () => {
  it.each(['4.7.0', '4.10.1', '5.3.0'])('returns nothing for podman %s', async (version) => {
    expect(await findHostAddress({ PATH: podman(version, false) })).toBeUndefined();
  });

  it('returns the address of the bridge for older versions', async () => {
    for (const version of ['4.6.2', '4.3.1', '3.4.4'])
      expect(await findHostAddress({ PATH: podman(version, false) })).toBe('10.88.0.1');
  });

  it('returns an address that other hosts reach when an older rootless podman has no bridge', async () => {
    const address = await findHostAddress({ PATH: podman('4.3.1', true) });
    const isAlone = Object.values(networkInterfaces()).every((all = []) => all.every(({ internal }) => internal));
    expect(address === undefined ? isAlone : isIPv4(address)).toBe(true);
  });

  it('rejects when the output of podman cannot be read', async () => {
    for (const path of [podman('', false, '[]'), podman('4.3.1', false, 'Error'), join(folder, 'nowhere')])
      await expect(findHostAddress({ PATH: path })).rejects.toThrow();
  });
});
