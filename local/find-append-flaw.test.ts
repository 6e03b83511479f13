import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findAppendFlaw } from './find-append-flaw.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-append-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns the flaw for a user without root rights, because root may write everywhere. */
async function flawForNobody(path: string): Promise<string> {
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  if (nobody) chownSync(folder, nobody.uid, nobody.gid);
  const text = `import { findAppendFlaw } from './find-append-flaw.ts'; process.stdout.write(String(findAppendFlaw(${JSON.stringify(path)})));`;
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', text];
  const options = { ...nobody, cwd: import.meta.dirname, encoding: 'utf8' as const, timeout: 20_000 };
  return (await promisify(execFile)(process.execPath, args, options)).stdout;
}

const NOT_ALLOWED = 'this process may not write it: allow that, or name another file';

describe('findAppendFlaw', () => {
  it('returns undefined for a file, a new file, a device and a standard stream, and creates no file', () => {
    const file = join(folder, 'audit.log');
    expect(findAppendFlaw(file)).toBeUndefined();
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, '');
    for (const path of [file, '/dev/null', '/dev/stdout', '/dev/stderr']) expect(findAppendFlaw(path)).toBeUndefined();
  });

  it('rejects a missing folder, a folder and a pipe', () => {
    expect(findAppendFlaw(join(folder, 'none', 'audit.log'))).toMatch(/^its folder does not exist: /);
    writeFileSync(join(folder, 'file'), '');
    expect(findAppendFlaw(join(folder, 'file', 'audit.log'))).toMatch(/^its folder does not exist: /);
    expect(findAppendFlaw(folder)).toMatch(/^it is a folder: /);
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    expect(findAppendFlaw(join(folder, 'pipe'))).toMatch(/^it is no regular file: /);
  });

  it('follows a link to a missing file, and rejects a loop', () => {
    const link = (name: string, target: string) => {
      symlinkSync(target, join(folder, name));
      return join(folder, name);
    };
    expect(findAppendFlaw(link('absolute', join(folder, 'new.log')))).toBeUndefined();
    expect(findAppendFlaw(link('relative', 'new.log'))).toBeUndefined();
    for (const target of [join(folder, 'none', 'new.log'), 'none/new.log'])
      expect(findAppendFlaw(link(`to-${target.length}`, target))).toMatch(/^its folder does not exist: /);
    const loop = link('loop', 'loop');
    for (const path of [loop, join(loop, 'audit.log')])
      expect(findAppendFlaw(path)).toMatch(/^its symbolic links form a loop: /);
  });

  it('rejects a path that ends with a slash, and one that is too long', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(findAppendFlaw(`${folder}/new/`)).toMatch(/^it is a folder: /);
    expect(findAppendFlaw(`${folder}/file/`)).toMatch(/^it is a folder: /);
    expect(findAppendFlaw(join(folder, 'n'.repeat(300)))).toMatch(/^its path is too long: /);
  });

  it('rejects a folder and a file that this user may not write', async () => {
    mkdirSync(join(folder, 'closed'));
    chmodSync(join(folder, 'closed'), 0o555);
    expect(await flawForNobody(join(folder, 'closed', 'audit.log'))).toBe(NOT_ALLOWED);
    writeFileSync(join(folder, 'audit.log'), '', { mode: 0o444 });
    expect(await flawForNobody(join(folder, 'audit.log'))).toBe(NOT_ALLOWED);
    expect(await flawForNobody(join(folder, 'new.log'))).toBe('undefined');
  });
});
