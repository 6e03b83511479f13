import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LocalSecrets } from './local-secrets.ts';
import { usualPasswordFile } from './read-password.ts';
import { refusal, useSecretsFixture } from './testdata/secrets-fixture.ts';

const VALUE = 'hunter2-the-value';
const fixture = useSecretsFixture();
const { open, withPassword } = fixture;

describe('EncryptedFile password', () => {
  it('comes from the setup, the environment, a file that the environment names, or the default file', async () => {
    expect(await refusal(open().in('a').setUp('encrypted', undefined))).toEqual([
      'bad_request',
      expect.stringContaining('password: required'),
    ]);
    const local = open();
    await local.in('default').setUp('encrypted', 'from the setup');
    await local.in('default').create('A', VALUE);
    writeFileSync(join(fixture.home, 'password'), 'from the setup\nsecond line\n');
    const named = open({ VMCP_SECRETS_PASSWORD_FILE: join(fixture.home, 'password') });
    expect(await named.read('default', ['A'])).toEqual(new Map([['A', VALUE]]));
    expect((await refusal(open().read('default', ['A'])))[1]).toContain('no password is known here');
    const usual = usualPasswordFile({ HOME: fixture.home });
    expect(usual).toBe(join(fixture.home, '.config/vmcp/secrets-password'));
    mkdirSync(join(usual, '..'), { recursive: true });
    writeFileSync(usual, 'from the setup');
    expect(await open().read('default', ['A'])).toEqual(new Map([['A', VALUE]]));
  });

  it('opens nothing and changes nothing when it is wrong, and is distinguished from damage', async () => {
    await withPassword().in('default').setUp('encrypted', undefined);
    await withPassword().in('default').create('A', VALUE);
    const before = readFileSync(fixture.file);
    const wrong = withPassword('wrong password');
    for (const call of [
      wrong.in('default').list(),
      wrong.in('default').create('B', 'x'),
      wrong.read('default', ['A']),
    ]) {
      const [code, message] = await refusal(call);
      expect([code, message]).toEqual(['secrets_locked', expect.stringContaining('another one')]);
      expect(message).not.toContain('wrong password');
    }
    expect(await refusal(wrong.in('default').setUp('encrypted', 'wrong password'))).toEqual([
      'bad_request',
      expect.stringContaining(`does not open ${fixture.file}`),
    ]);
    expect(readFileSync(fixture.file)).toEqual(before);
  });

  it.each(['short', 'x'.repeat(1025)])('must have a sensible length: %s', async (password) => {
    expect(await refusal(open().in('default').setUp('encrypted', password))).toEqual([
      'bad_request',
      'password: write 8 to 1024 characters',
    ]);
    expect(existsSync(fixture.file)).toBe(false);
  });

  it('changes for a caller who knows the current one: the file is sealed again without loss', async () => {
    const local = withPassword();
    await local.in('default').setUp('encrypted', undefined);
    await local.in('default').create('A', VALUE);
    const { message } = await local.in('default').setUp('encrypted', 'another one');
    expect(message).toContain('sealed anew');
    await local.in('default').create('B', 'x');
    expect(await withPassword('another one').read('default', ['A', 'B'])).toEqual(
      new Map([
        ['A', VALUE],
        ['B', 'x'],
      ]),
    );
    expect((await refusal(withPassword().read('default', ['A'])))[0]).toBe('secrets_locked');
    expect((await local.in('default').setUp('encrypted', 'another one')).message).toContain('opened');
  });

  it('locks this process after another process changed it, until it receives the new one', async () => {
    const here = withPassword();
    await here.in('default').setUp('encrypted', undefined);
    await here.in('default').create('A', VALUE);
    await withPassword().in('default').setUp('encrypted', 'another one');
    expect((await refusal(here.in('default').create('B', 'x')))[0]).toBe('secrets_locked');
    await here.in('default').setUp('encrypted', 'another one');
    await here.in('default').create('B', 'x');
    expect((await withPassword('another one').in('default').list()).keys).toEqual(['A', 'B']);
  });

  it('counts as missing for a file that does not exist or is empty', async () => {
    await withPassword().in('default').setUp('encrypted', undefined);
    const named = open({ VMCP_SECRETS_PASSWORD_FILE: join(fixture.home, 'nowhere') });
    expect(await refusal(named.read('default', ['A']))).toEqual([
      'secrets_locked',
      expect.stringContaining(join(fixture.home, 'nowhere')),
    ]);
    const folder = open({ VMCP_SECRETS_PASSWORD_FILE: fixture.home });
    expect(await refusal(folder.read('default', ['A']))).toEqual(['secrets_locked', expect.stringContaining('EISDIR')]);
  });
});

describe('EncryptedFile', () => {
  /** Updates the checksum for another body, so that the change does not look like a disk fault. */
  function exchangeBody(): void {
    const [header = '', body = ''] = readFileSync(fixture.file, 'utf8').split('\n');
    const lines = `${header}\n${body.startsWith('A') ? 'B' : 'A'}${body.slice(1)}\n`;
    writeFileSync(fixture.file, `${lines}${createHash('sha256').update(lines).digest('hex')}\n`);
  }

  it.each([
    ['cut off', () => truncateSync(fixture.file, 200)],
    ['exchanged', exchangeBody],
  ])('names a damaged file and leaves it unchanged: it is %s', async (_how, damage) => {
    const local = withPassword();
    await local.in('default').setUp('encrypted', undefined);
    await local.in('default').create('A', VALUE);
    damage();
    const before = readFileSync(fixture.file);
    for (const call of [
      local.in('default').list(),
      local.in('default').create('B', 'x'),
      local.in('default').setUp('encrypted', undefined),
    ])
      expect(await refusal(call)).toEqual([
        'store_damaged',
        expect.stringContaining(`${fixture.file} is damaged, nothing was changed`),
      ]);
    expect(readFileSync(fixture.file)).toEqual(before);
  });

  it('names a missing file', async () => {
    const local = withPassword();
    await local.in('default').setUp('encrypted', undefined);
    rmSync(fixture.file);
    expect(await refusal(local.in('default').create('A', VALUE))).toEqual([
      'not_found',
      expect.stringContaining(fixture.file),
    ]);
    await local.in('default').setUp('encrypted', undefined);
    await local.in('default').create('A', VALUE);
  });

  it('loses no secret of several processes, and releases its lock when a writer is killed', async () => {
    const { state } = fixture;
    const secrets = () =>
      new LocalSecrets({ state, environment: { VMCP_SECRETS_PASSWORD: 'correct horse' } }).in('default');
    await secrets().setUp('encrypted', undefined);
    const killed = writeSecrets('K', 100_000, state.path);
    const others = [writeSecrets('A', 10, state.path), writeSecrets('B', 10, state.path)];
    await killed.written(5);
    killed.child.kill('SIGKILL');
    expect(await Promise.all(others.map(({ ended }) => ended))).toEqual([0, 0]);
    const { keys } = await secrets().list();
    expect(keys.filter((key) => key.startsWith('A'))).toHaveLength(10);
    expect(keys.filter((key) => key.startsWith('B'))).toHaveLength(10);
    for (const n of killed.told) expect(keys).toContain(`K${n}`);
    // Temporary file of a process that was killed while it wrote.
    writeFileSync(`${fixture.file}.0123456789ab.tmp`, '');
    await secrets().create('LAST', VALUE);
    expect(readdirSync(join(fixture.file, '..')).sort()).toEqual(['.lock', 'provider.json', 'secrets.encrypted']);
  });
});

/** Runs a process that stores secrets and reports which are stored. */
function writeSecrets(name: string, count: number, state: string) {
  const program = `
    import { locateState } from ${JSON.stringify(join(import.meta.dirname, '../../local/state-folder.ts'))};
    import { LocalSecrets } from ${JSON.stringify(join(import.meta.dirname, 'local-secrets.ts'))};
    const environment = { VMCP_SECRETS_PASSWORD: 'correct horse' };
    const secrets = new LocalSecrets({ state: locateState(${JSON.stringify(state)}), environment }).in('default');
    for (let n = 0; n < ${count}; n += 1) {
      await secrets.create(${JSON.stringify(name)} + n, 'x'.repeat(20_000));
      console.log(n);
    }`;
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname });
  const told: number[] = [];
  return {
    child,
    told,
    written: (many: number) =>
      new Promise<void>((resolve) => {
        child.stdout.on('data', (data: Buffer) => {
          told.push(...data.toString().trim().split('\n').map(Number));
          if (told.length >= many) resolve();
        });
      }),
    ended: new Promise((resolve) => child.once('exit', resolve)),
  };
}
