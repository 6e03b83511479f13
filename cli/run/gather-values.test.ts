import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { gatherValues, type Wanted } from './gather-values.ts';
import { readPlain, readSecrets } from './read-assignments.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-values-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const TOKEN: Wanted = { name: 'TOKEN', secret: true, required: true, description: 'from the settings page' };
const WANTED: Wanted[] = [
  TOKEN,
  { name: 'URL', required: true },
  { name: 'MODE', required: true, default: 'fast' },
  { name: 'EXTRA', secret: true },
];

interface Options {
  secrets?: string[];
  plain?: string[];
  environment?: NodeJS.ProcessEnv;
  typed?: string[];
}

async function gather(wanted: Wanted[], { secrets = [], plain = [], environment = {}, typed }: Options) {
  const input = Object.assign(new PassThrough(), { isTTY: typed !== undefined });
  const shown = { text: '' };
  const err = { isTTY: typed !== undefined, write: answer };
  const left = [...(typed ?? [])];
  function answer(text: string): void {
    shown.text += text;
    if (/\): $|\w: $|\] $/.test(text)) setImmediate(() => input.write(`${left.shift() ?? ''}\r`));
  }
  const given = {
    plain: readPlain(plain, '--env', environment),
    secrets: await readSecrets(secrets, '--secret', { input }),
  };
  const values = await gatherValues(wanted, given, { input, err, environment });
  return { plain: Object.fromEntries(values.plain), secrets: Object.fromEntries(values.secrets), shown: shown.text };
}

describe('gatherValues', () => {
  it('ignores inherited properties of objects', () => {
    for (const name of ['constructor', 'toString', '__proto__'])
      expect(() => readPlain([name], '--header')).toThrow('--header: write --header NAME=VALUE');
  });

  it('asks on a terminal, hides secrets, and skips values with a default', async () => {
    const found = await gather(WANTED, { typed: ['hunter2', 'http://x'] });
    expect(found).toMatchObject({
      plain: { URL: 'http://x', MODE: 'fast' },
      secrets: { TOKEN: { value: 'hunter2' } },
    });
    expect(found.shown).toContain('TOKEN (from the settings page): ');
    expect(found.shown).not.toContain('hunter2');
  });

  it('reads files, stored secrets and named environment variables, and reports secrets from the environment', async () => {
    writeFileSync(join(folder, 'token'), 'in a file\n');
    const environment = { URL: 'http://env', TOKEN: 'not this one', OTHER: 'hunter2' };
    const secrets = [`TOKEN=@${join(folder, 'token')}`, 'EXTRA=key:stored.before', 'OTHER'];
    const found = await gather(WANTED, { plain: ['URL'], secrets, environment });
    expect(found).toMatchObject({
      plain: { URL: 'http://env', MODE: 'fast' },
      secrets: { TOKEN: { value: 'in a file' }, EXTRA: { key: 'stored.before' }, OTHER: { value: 'hunter2' } },
    });
    expect(found.shown).toBe('OTHER: taken from the environment\n');
    await expect(gather(WANTED, { plain: ['URL'], environment: {} })).rejects.toThrow('--env NAME=VALUE');
  });

  it('reads no environment variable that only a registry names, unless the user agrees', async () => {
    const environment = { URL: 'http://env', TOKEN: 'hunter2', MODE: 'slow' };
    await expect(gather(WANTED, { environment })).rejects.toMatchObject({
      message: expect.stringMatching(/TOKEN.*URL/s),
    });
    const found = await gather(WANTED, { environment, typed: ['n', 'another', 'y'] });
    expect(found).toMatchObject({
      plain: { URL: 'http://env', MODE: 'fast' },
      secrets: { TOKEN: { value: 'another' } },
    });
    expect(found.shown).toContain('TOKEN is in your environment: give the server that value? [y/N] ');
    expect(found.shown).not.toContain('hunter2');
  });

  it('accepts values that the server does not declare', async () => {
    const found = await gather([], { secrets: ['OTHER'], plain: ['A=b=c'], environment: { OTHER: 'x' } });
    expect(found).toMatchObject({ plain: { A: 'b=c' }, secrets: { OTHER: { value: 'x' } } });
  });

  it('names all missing values without a terminal', async () => {
    await expect(gather(WANTED, {})).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(
        /TOKEN: --secret TOKEN=@file {2}\(from the settings page\)\n {2}URL: --env URL=VALUE$/,
      ),
    });
  });

  it('rejects an empty answer', async () => {
    await expect(gather([TOKEN], { typed: [''] })).rejects.toThrow('TOKEN is needed');
  });
});

describe('readSecrets', () => {
  it.each(['--secret', '--header-secret'])(
    'rejects a value on the command line for %s without repeating it',
    async (option) => {
      const refusalOf = (text: string): Promise<unknown> =>
        readSecrets([text], option, { input: Readable.from([]) }).catch(String);
      expect(await refusalOf('TOKEN=hunter2')).toContain('seen by every user of this machine');
      expect(await refusalOf('TOKEN=hunter2')).not.toContain('hunter2');
      expect(await refusalOf('hunter 2')).not.toContain('hunter');
    },
  );

  it('rejects a secret as a plain value', async () => {
    const attempt = gather([TOKEN], { plain: ['TOKEN=hunter2'] });
    await expect(attempt).rejects.toMatchObject({ exitCode: 2, message: expect.not.stringContaining('hunter2') });
  });

  it.each(['nowhere', 'empty'])('rejects an unreadable or empty file: %s', async (name) => {
    writeFileSync(join(folder, 'empty'), '\n');
    const attempt = readSecrets([`TOKEN=@${join(folder, name)}`], '--secret', { input: Readable.from([]) });
    await expect(attempt).rejects.toThrow(/the file with TOKEN is empty|nowhere cannot be read/);
  });

  it('reads a secret from a pipe in several parts', async () => {
    const input = new PassThrough();
    const bytes = Buffer.from('grün\n');
    const reading = readSecrets(['TOKEN=@-'], '--secret', { input });
    // The second part begins within a UTF-8 character.
    for (const part of [bytes.subarray(0, 3), bytes.subarray(3)]) {
      await new Promise(setImmediate);
      input.write(part);
    }
    input.end();
    const found = await reading;
    expect(Object.fromEntries(found)).toEqual({ TOKEN: { value: 'grün' } });
  });
});
