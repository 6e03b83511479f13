import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FileLock } from '#lib/files/file-lock';
import { EncryptedFile } from './encrypted-file.ts';
import { deriveFast, refusal, useSecretsFixture } from './testdata/secrets-fixture.ts';

const VALUE = 'hunter2-the-value';
const fixture = useSecretsFixture();
const { open, withPassword } = fixture;

describe('LocalSecrets', () => {
  it('requires a provider first', async () => {
    const secrets = withPassword().in('default');
    for (const call of [secrets.list(), secrets.create('A', VALUE), secrets.replace('A', VALUE), secrets.delete('A')])
      expect(await refusal(call)).toEqual(['not_found', expect.stringContaining('set one up first')]);
    expect(await withPassword().read('default', ['A'])).toEqual(new Map());
    expect(existsSync(fixture.state.path)).toBe(false);
  });

  it('stores secrets in one encrypted file, by namespace, and shares them with other processes', async () => {
    const local = withPassword();
    const secrets = local.in('default');
    expect(await secrets.setUp('encrypted', undefined)).toEqual({
      type: 'encrypted',
      message: expect.stringContaining(fixture.file),
    });
    await secrets.create('B', VALUE);
    await secrets.create('A', 'other');
    await local.in('team').create('B', 'of the team');
    expect(await secrets.list()).toEqual({ type: 'encrypted', keys: ['A', 'B'] });
    expect(await withPassword().read('default', ['B', 'C', 'A'])).toEqual(
      new Map([
        ['B', VALUE],
        ['A', 'other'],
      ]),
    );
    expect(await withPassword().read('team', ['A', 'B'])).toEqual(new Map([['B', 'of the team']]));
    await secrets.replace('B', 'changed');
    await withPassword().in('default').delete('A');
    expect(await local.read('default', ['A', 'B'])).toEqual(new Map([['B', 'changed']]));
    expect(readFileSync(fixture.file, 'utf8')).not.toContain('changed');
    expect(statSync(fixture.file).mode & 0o777).toBe(0o600);
    expect(statSync(join(fixture.file, '..')).mode & 0o777).toBe(0o700);
  });

  it('creates a secret once, and changes and deletes it in place', async () => {
    const secrets = withPassword().in('default');
    await secrets.setUp('encrypted', undefined);
    await secrets.create('A', VALUE);
    expect(await refusal(secrets.create('A', 'x'))).toEqual(['already_exists', expect.stringContaining('"A"')]);
    expect(await refusal(secrets.replace('B', 'x'))).toEqual(['not_found', expect.stringContaining('"B"')]);
    expect(await refusal(secrets.delete('B'))).toEqual(['not_found', expect.stringContaining('"B"')]);
    expect(await withPassword().read('default', ['A'])).toEqual(new Map([['A', VALUE]]));
  });

  it('accepts names and values of any kind', async () => {
    const local = withPassword();
    await local.in('default').setUp('encrypted', undefined);
    for (const key of ['__proto__', 'constructor', 'a.b-c_D']) await local.in('__proto__').create(key, `{"${key}`);
    expect((await local.in('__proto__').list()).keys).toEqual(['__proto__', 'a.b-c_D', 'constructor']);
    expect(await withPassword().read('__proto__', ['__proto__'])).toEqual(new Map([['__proto__', '{"__proto__']]));
  });

  it('limits the number of secrets', async () => {
    const local = withPassword();
    await local.in('default').setUp('encrypted', undefined);
    const lock = new FileLock(join(fixture.file, '../.lock'));
    const all = Array.from({ length: 1000 }, (_, n): [string, string] => [`K${n}`, 'v']);
    await new EncryptedFile({ path: fixture.file, lock, password: () => 'correct horse', derive: deriveFast }).update(
      (contents) => {
        contents.set('default', new Map(all));
      },
    );
    expect(await refusal(local.in('default').create('ONE_MORE', 'v'))).toEqual(['too_large', expect.any(String)]);
    await local.in('default').delete('K7');
    await local.in('default').create('ONE_MORE', 'v');
  });

  it('notifies a listener of each change until it unsubscribes', async () => {
    const local = withPassword();
    let told = 0;
    const end = local.listen(() => (told += 1));
    await local.in('default').setUp('encrypted', undefined);
    await local.in('default').create('A', VALUE);
    expect(told).toBe(2);
    end();
    await local.in('default').delete('A');
    expect(told).toBe(2);
    expect(local.files).toContain(fixture.file);
  });
});

describe('LocalSecrets from the environment', () => {
  it('reads, but does not write', async () => {
    const local = open({ VMCP_SECRET_API_KEY: VALUE, VMCP_SECRET_: 'x', OTHER: 'y' });
    await local.in('default').setUp('environment', undefined);
    expect(await local.in('default').list()).toEqual({ type: 'environment', keys: ['API_KEY'] });
    expect(await local.read('team', ['API_KEY', 'OTHER'])).toEqual(new Map([['API_KEY', VALUE]]));
    const secrets = local.in('default');
    for (const call of [secrets.create('A', 'x'), secrets.replace('API_KEY', 'x'), secrets.delete('API_KEY')])
      expect(await refusal(call)).toEqual(['provider_read_only', expect.stringContaining('VMCP_SECRET_')]);
  });

  it('leaves the encrypted secrets in place', async () => {
    const local = withPassword();
    await local.in('default').setUp('encrypted', undefined);
    await local.in('default').create('A', VALUE);
    await local.in('default').setUp('environment', undefined);
    expect((await local.in('default').list()).keys).toEqual([]);
    await withPassword().in('default').setUp('encrypted', undefined);
    expect((await local.in('default').list()).keys).toEqual(['A']);
  });
});

describe('LocalSecrets from 1Password', () => {
  /** Writes a fake `op` that records its arguments. */
  function fakeOp(script: string): NodeJS.ProcessEnv {
    const path = join(fixture.home, 'op');
    writeFileSync(path, `#!/bin/sh\necho "$*" >> "${fixture.home}/calls"\n${script}\n`);
    chmodSync(path, 0o755);
    return { PATH: `${fixture.home}${delimiter}/usr/bin${delimiter}/bin`, VMCP_1PASSWORD_VAULT: 'work' };
  }
  /** Reads all of its input, as a password prompt would. */
  const VAULT = `
    cat > /dev/null
    case "$*" in
      "item list --vault work --format json") echo '[{"title":"GITHUB"},{"title":"with a space"},{"title":"SLACK"}]';;
      "read --no-newline op://work/GITHUB/credential") printf %s '${VALUE}';;
      "read --no-newline op://work/SLACK/bot.token") printf 'line 1\\nline 2';;
      *) echo "[ERROR] could not read secret: \\"NO\\" isn't an item in the \\"work\\" vault" >&2; exit 1;;
    esac`;

  it('reads items of a vault, by their field', async () => {
    const local = open(fakeOp(VAULT));
    await local.in('default').setUp('1password', undefined);
    expect(await local.in('default').list()).toEqual({ type: '1password', keys: ['GITHUB', 'SLACK'] });
    const read = await local.read('default', ['GITHUB', 'SLACK.bot.token', 'NO']);
    expect(read).toEqual(
      new Map([
        ['GITHUB', VALUE],
        ['SLACK.bot.token', 'line 1\nline 2'],
      ]),
    );
    expect((await refusal(local.in('default').create('A', 'never-an-argument')))[0]).toBe('provider_read_only');
    expect(readFileSync(join(fixture.home, 'calls'), 'utf8')).not.toMatch(/hunter2|never-an-argument/);
  });

  it('reports that the program op is missing', async () => {
    const local = open({ PATH: fixture.home });
    expect(await refusal(local.in('default').setUp('1password', undefined))).toEqual([
      'unsupported_provider',
      expect.stringContaining('`op` is not on the PATH: install it'),
    ]);
    expect((await refusal(local.in('default').list()))[0]).toBe('not_found');
  });

  it('reports unavailable secrets with the bounded output of the program', async () => {
    await open(fakeOp(VAULT)).in('default').setUp('1password', undefined);
    const away = open(fakeOp('printf "[ERROR] you are not\\033[31m signed in\\n" >&2; exit 1'));
    expect(await refusal(away.read('default', ['GITHUB']))).toEqual([
      'unavailable',
      '`op` refuses: [ERROR] you are not [31m signed in',
    ]);
    const odd = open(fakeOp('echo nothing'));
    expect(await refusal(odd.in('default').list())).toEqual(['unavailable', expect.stringContaining('something else')]);
  });

  it('rejects an unknown provider', async () => {
    expect(await refusal(open().in('default').setUp('kubernetes', undefined))).toEqual([
      'unsupported_provider',
      expect.stringContaining('for clusters'),
    ]);
  });
});
