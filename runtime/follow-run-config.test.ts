import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '#runtime/errors';
import { type ConfigReactions, type FollowedRunConfig, followRunConfig } from './follow-run-config.ts';
import type { LoadedRunConfig } from './load-run-config.ts';

let folder: string;
let file: string;
let logged: string[];
let applied: string[];
let renewed: string[][];
let opened: FollowedRunConfig[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'follow-'));
  file = join(folder, 'run-config.yaml');
  [logged, applied, renewed, opened] = [[], [], [], []];
});
afterEach(async () => {
  for (const one of opened) await one.close();
  await rm(folder, { recursive: true });
});

const document = (name: string, more = '') =>
  `schema_version: v0.1.0\nserver: { namespace: d, name: ${name}, uid: u }\nincoming: { type: anonymous }\nbackends: []\n${more}`;
const log = (level: string) => (text: string, fields?: unknown) =>
  logged.push(`${level} ${text} ${JSON.stringify(fields)}`);

async function start(
  more: Partial<ConfigReactions> = {},
  timing: { interval: number; debounce: number; allowedDigests?: string } = {
    interval: 3_600_000,
    debounce: 3_600_000,
  },
) {
  const followed = await followRunConfig({
    file,
    log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    now: () => 1_900_000_000_000,
    ...timing,
  });
  opened.push(followed);
  await followed.follow({
    apply: ({ config }: LoadedRunConfig) => void applied.push(config.server.name),
    filesChanged: (files) => void renewed.push([...files]),
    ...more,
  });
  return followed;
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

describe('FollowedRunConfig', () => {
  it('applies a changed document once', async () => {
    await writeFile(file, document('one'));
    const followed = await start();
    await replace(file, document('two'));
    await followed.check();
    await followed.check();
    expect(applied).toEqual(['two']);
    expect(followed.current.config.server.name).toBe('two');
  });

  it('applies nothing if the same content is written again', async () => {
    await writeFile(file, document('one'));
    const followed = await start();
    await replace(file, document('one'));
    await followed.check();
    expect(applied).toEqual([]);
  });

  it('keeps the former document when an invalid one arrives, reports it once, and recovers', async () => {
    await writeFile(file, document('one'));
    const refusals: string[] = [];
    const followed = await start({ refused: ({ message }) => void refusals.push(message) });
    await replace(file, document('two', 'nonsense: 1\n'));
    await followed.check();
    await followed.check();
    expect(followed.current.config.server.name).toBe('one');
    expect(followed.refused).toEqual({
      at: 1_900_000_000_000,
      message: expect.stringMatching(/:5 nonsense: unknown field/),
    });
    expect(logged.filter((line) => line.startsWith('error'))).toHaveLength(1);
    expect(refusals).toHaveLength(1);
    await replace(file, document('one'));
    await followed.check();
    expect(followed.refused).toBeUndefined();
    expect(applied).toEqual([]);
  });

  it('keeps the former document if the new one cannot be applied', async () => {
    await writeFile(file, document('one'));
    const apply = () => {
      throw new ConfigError('policy p1: unexpected end');
    };
    const followed = await start({ apply });
    await replace(file, document('two'));
    await followed.check();
    expect(followed.current.config.server.name).toBe('one');
    expect(followed.refused?.message).toBe('policy p1: unexpected end');
  });

  it('hides the inner reason of an unexpected failure from the public message', async () => {
    await writeFile(file, document('one'));
    const apply = () => {
      throw new TypeError('inner secret');
    };
    const followed = await start({ apply });
    await replace(file, document('two'));
    await followed.check();
    expect(followed.refused?.message).toBe('it could not be taken over; the log has the reason');
  });

  it('waits for a file that a new document names, then applies both', async () => {
    await writeFile(file, document('one'));
    const followed = await start();
    await replace(file, document('two', 'status_token_file: token-2\n'));
    await followed.check();
    expect(followed.refused?.message).toMatch(/token-2: there is no such file/);
    await writeFile(join(folder, 'token-2'), 's');
    await followed.check();
    expect(followed.current.config.server.name).toBe('two');
    expect(followed.refused).toBeUndefined();
  });

  it('rereads a changed secret and reports its file', async () => {
    await writeFile(join(folder, 'token'), 'one');
    await writeFile(file, document('one', 'status_token_file: token\n'));
    const followed = await start();
    await replace(join(folder, 'token'), 'two\n');
    await followed.check();
    expect(renewed).toEqual([['token']]);
    expect(followed.files.read('token')).toBe('two');
    expect(applied).toEqual([]);
    expect(logged.join()).not.toContain('two');
  });

  it('detects the swapped ..data link of Kubernetes by notification', async () => {
    await mkdir(join(folder, 'v1'));
    await mkdir(join(folder, 'v2'));
    await writeFile(join(folder, 'v1', 'run-config.yaml'), document('one'));
    await writeFile(join(folder, 'v2', 'run-config.yaml'), document('two'));
    await symlink('v1', join(folder, '..data'));
    await symlink('..data/run-config.yaml', file);
    const followed = await start({}, { interval: 3_600_000, debounce: 20 });
    await symlink('v2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await waitFor(() => followed.current.config.server.name === 'two');
  });

  it('detects a change by polling if notifications are missing', async () => {
    await writeFile(file, document('one'));
    const followed = await start({}, { interval: 20, debounce: 3_600_000 });
    await replace(file, document('two'));
    await waitFor(() => followed.current.config.server.name === 'two');
  });

  it('reloads once after many writes in a row', async () => {
    await writeFile(file, document('one'));
    const followed = await start({}, { interval: 3_600_000, debounce: 150 });
    for (let write = 0; write < 10; write++) await replace(file, document(`v${write}`));
    await waitFor(() => followed.current.config.server.name === 'v9');
    expect(applied).toEqual(['v9']);
  });

  it('detects a change beside a file that is written continuously', async () => {
    await writeFile(file, document('one'));
    const followed = await start({}, { interval: 3_600_000, debounce: 30 });
    const noise = setInterval(() => void writeFile(join(folder, 'app.log'), String(Math.random())), 5);
    await replace(file, document('two'));
    await waitFor(() => followed.current.config.server.name === 'two').finally(() => clearInterval(noise));
  });

  it('rereads a mended file that only a refused document names', async () => {
    await writeFile(file, document('one'));
    await writeFile(join(folder, 'token'), 'bad');
    const read: string[] = [];
    const followed: FollowedRunConfig = await start({
      apply: () => {
        read.push(followed.files.read('token'));
        if (read.at(-1) === 'bad') throw new ConfigError('token: it is bad');
      },
    });
    await replace(file, document('two', 'status_token_file: token\n'));
    await followed.check();
    expect(followed.refused?.message).toBe('token: it is bad');
    await replace(join(folder, 'token'), 'good');
    await followed.check();
    expect(read).toEqual(['bad', 'good']);
    expect(followed.current.config.server.name).toBe('two');
  });

  it('applies one document at a time, from the first', async () => {
    await writeFile(file, document('one'));
    const followed = await followRunConfig({
      file,
      log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      now: () => 0,
      interval: 3_600_000,
      debounce: 3_600_000,
    });
    opened.push(followed);
    await replace(file, document('two'));
    let goOn: () => void = () => undefined;
    const hold = new Promise<void>((resolve) => (goOn = resolve));
    let atOnce = 0;
    let most = 0;
    const following = followed.follow({
      apply: async ({ config }) => {
        most = Math.max(most, ++atOnce);
        applied.push(config.server.name);
        await hold;
        atOnce--;
      },
      filesChanged: () => undefined,
    });
    await waitFor(() => applied.length === 1);
    await replace(file, document('three'));
    const looked = followed.check();
    await new Promise((resolve) => setTimeout(resolve, 50));
    goOn();
    await Promise.all([following, looked]);
    expect(applied).toEqual(['two', 'three']);
    expect(most).toBe(1);
  });

  it('serves no file of its folder without an allowed digest, and applies it once the digest exists', async () => {
    const allowedDigests = join(folder, 'digests');
    await mkdir(allowedDigests);
    const allow = (name: string, text: string) =>
      writeFile(join(allowedDigests, `config.${createHash('sha256').update(`${name}\n${text}`).digest('hex')}`), '');
    const begin = () => start({}, { interval: 3_600_000, debounce: 3_600_000, allowedDigests });
    const [one, two] = [document('one'), document('two', 'status_token_file: ca\n')];
    await writeFile(file, one);
    await expect(begin()).rejects.toThrow('run-config.yaml: the operator did not write this content');
    await allow('run-config.yaml', one);
    const followed = await begin();
    await writeFile(join(folder, 'ca'), 'forged');
    await replace(file, two);
    await followed.check();
    expect(followed.refused?.message).toMatch(/run-config.yaml: the operator did not write this content/);
    await allow('run-config.yaml', two);
    await allow('ca', 'right');
    await followed.check();
    expect(followed.refused?.message).toMatch(/status_token_file: .*ca: the operator did not write this content/);
    await writeFile(join(folder, 'ca'), 'right');
    await followed.check();
    expect([applied, followed.refused, followed.files.read('ca')]).toEqual([['two'], undefined, 'right']);
    await replace(join(folder, 'ca'), 'forged again');
    await followed.check();
    expect(followed.files.read('ca')).toBe('right');
  });

  it('closes only after the current document is applied', async () => {
    await writeFile(file, document('one'));
    let goOn: () => void = () => undefined;
    const hold = new Promise<void>((resolve) => (goOn = resolve));
    const followed = await start({
      apply: async ({ config }) => {
        applied.push(`${config.server.name} begins`);
        await hold;
        applied.push(`${config.server.name} ends`);
      },
    });
    await replace(file, document('two'));
    void followed.check();
    await waitFor(() => applied.length === 1);
    const closed = followed.close();
    setTimeout(goOn, 20);
    await closed;
    expect(applied).toEqual(['two begins', 'two ends']);
  });

  it('detects nothing after it is closed', async () => {
    await writeFile(file, document('one'));
    const followed = await start();
    await followed.close();
    await replace(file, document('two'));
    await followed.check();
    expect(applied).toEqual([]);
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 12_000 && !condition(); turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}
