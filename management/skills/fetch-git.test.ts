import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { lookup } from 'node:dns';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fetchSkill } from './fetch-skill.ts';
import { Space } from './skill-limits.ts';
import { readReference } from './skill-reference.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'vmcp-fetch-git-'));
  mkdirSync(join(base, 'into'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Writes a git of this version that records its arguments and cannot reach any host. */
function pretendGit(version: string): void {
  const script = `#!/bin/sh
echo "$@" >>${base}/calls
case "$*" in *" version") echo git version ${version};; *" fetch "*) echo no >&2; exit 1;; esac
`;
  writeFileSync(join(base, 'git'), script);
  chmodSync(join(base, 'git'), 0o755);
}

const calls = () => (existsSync(join(base, 'calls')) ? readFileSync(join(base, 'calls'), 'utf8') : '');

function fetchFrom(addresses: string[], more: { httpsProxy?: string; allowPrivateAddress?: boolean } = {}) {
  const answers = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const resolve = ((_host: string, _options: unknown, done: (error: null, found: unknown) => void) =>
    done(null, answers)) as unknown as typeof lookup;
  const { httpsProxy, allowPrivateAddress = false } = more;
  const proxy = httpsProxy === undefined ? undefined : { httpsProxy };
  return fetchSkill(readReference('git://skills.example/o/r@main'), {
    rules: {
      localPaths: false,
      privateAddresses: true,
      proxy,
      lookup: resolve,
      searchPath: `${base}:/usr/bin:/bin`,
      deadline: 1,
    },
    ...{ allowPrivateAddress, into: join(base, 'into'), space: new Space(), signal: AbortSignal.timeout(20_000) },
  });
}

describe('fetchGit', () => {
  it('binds git to the checked addresses, because git resolves the name again', async () => {
    pretendGit('2.39.5');
    await expect(fetchFrom(['93.184.216.34', '2606:2800:220:1::1'])).rejects.toMatchObject({ code: 'source_failed' });
    const bound = 'http.curloptResolve=skills.example:443:93.184.216.34,[2606:2800:220:1::1]';
    expect(calls()).toContain(`-c ${bound} fetch`);
  });

  it.each([[['10.0.0.1']], [['93.184.216.34', '127.0.0.1']], [['::1']], [['169.254.169.254']]])(
    'does not call git for a name that resolves to %j',
    async (addresses) => {
      pretendGit('2.39.5');
      await expect(fetchFrom(addresses)).rejects.toMatchObject({ code: 'bad_request' });
      expect(calls()).toBe('');
    },
  );

  it.each(['2.34.1', '1.9.0', 'unknown'])(
    'rejects git of version %s, which cannot be bound to addresses',
    async (version) => {
      pretendGit(version);
      await expect(fetchFrom(['93.184.216.34'])).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining('2.37'),
      });
      expect(calls()).not.toContain(' fetch ');
    },
  );

  it('does not call git behind a proxy, which resolves names itself unless private addresses are allowed', async () => {
    pretendGit('2.39.5');
    const httpsProxy = 'http://127.0.0.1:1';
    await expect(fetchFrom(['93.184.216.34'], { httpsProxy })).rejects.toMatchObject({ code: 'bad_request' });
    expect(calls()).toBe('');
    const allowed = fetchFrom(['93.184.216.34'], { httpsProxy, allowPrivateAddress: true });
    await expect(allowed).rejects.toMatchObject({ code: 'source_failed' });
    expect(calls()).toContain(' fetch ');
    expect(calls()).not.toContain('curloptResolve');
  });
});
