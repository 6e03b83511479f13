import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HostAddress } from './host-address.ts';

let folder: string;
let later: (() => void)[];
let address: HostAddress;
let found: PromiseWithResolvers<undefined>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-podman-'));
  later = [];
  found = Promise.withResolvers();
  address = new HostAddress({
    environment: { PATH: `${folder}:/usr/bin:/bin` },
    clock: {
      now: () => 0,
      after(_milliseconds, then) {
        later.push(then);
        return () => void later.splice(later.indexOf(then), 1);
      },
    },
    found: () => found.resolve(undefined),
  });
});
afterEach(() => {
  address.close();
  rmSync(folder, { recursive: true });
});

/** Writes a podman that records each call and reports this information. */
function podman(info: string): void {
  const network = '[{"subnets":[{"gateway":"10.88.0.1"}]}]';
  const asked = join(folder, 'asked');
  const answers = `case "$1" in info) echo '${info}' ;; network) echo '${network}' ;; esac`;
  writeFileSync(join(folder, 'podman'), `#!/bin/sh\necho "$1" >> '${asked}'\n${answers}\n`);
  chmodSync(join(folder, 'podman'), 0o755);
}
const asked = (): string[] => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n');
const old = (version: string) =>
  JSON.stringify({ version: { Version: version }, host: { security: { rootless: false } } });

describe('HostAddress', () => {
  it('asks podman again after a missing answer, and reports the address once it is known', async () => {
    podman('');
    expect(await address.get()).toBeUndefined();
    podman(old('4.3.1'));
    expect([await address.get(), asked()]).toEqual([undefined, ['info']]);
    later.shift()?.();
    await found.promise;
    expect([await address.get(), asked(), later]).toEqual(['10.88.0.1', ['info', 'info', 'network'], []]);
  });

  it('asks once when podman answers, also when containers need no address', async () => {
    podman(old('5.3.0'));
    expect([await address.get(), await address.get(), asked(), later]).toEqual([undefined, undefined, ['info'], []]);
  });

  it('stops asking after close', async () => {
    podman('');
    const coming = address.get();
    await coming;
    expect(later).toHaveLength(1);
    address.close();
    expect(later).toEqual([]);
  });
});
