import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '#runtime/errors';
import { codeOf, linkOf, logIn, LONG, type Opened, sessionOf, SHORT } from './contract/opened.contract.ts';
import { storageContract } from './contract/storage.contract.ts';
import { openSqliteStorage } from './sqlite.ts';
import { StorageUnavailable } from './storage.ts';

let folder = '';
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-sqlite-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newFile = () => join(folder, `state${(files += 1)}`, 'auth.db');
let ids = 0;
const open = (file: string, now: () => number = () => 1_700_000_000_000) =>
  openSqliteStorage({ file, now, newId: () => `id${(ids += 1)}` });

async function openTwice(file = newFile()): Promise<Opened> {
  let time = 1_700_000_000_000;
  const now = () => time;
  const [one, two] = [await open(file, now), await open(file, now)];
  return {
    one,
    two,
    now,
    pass: (ms) => {
      time += ms;
      return Promise.resolve();
    },
    close: async () => {
      await one.close();
      await two.close();
    },
  };
}

storageContract('SQLite', () => openTwice());

describe('database file', () => {
  it('allows access to its owner only, as do its folder and companion files', async () => {
    const file = newFile();
    const opened = await openTwice(file);
    await logIn(opened, 's1');
    const names = readdirSync(join(file, '..'));
    expect(names).toEqual(expect.arrayContaining(['auth.db', 'auth.db-wal']));
    for (const name of names) expect(statSync(join(file, '..', name)).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    await opened.close();
  });

  it('loses excess permissions', async () => {
    const file = newFile();
    await (await open(file)).close();
    chmodSync(file, 0o644);
    await (await open(file)).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('keeps its content across a restart', async () => {
    const file = newFile();
    const before = await openTwice(file);
    await logIn(before, 's1');
    await before.one.finishLogin({ sub: 'ann', links: { git: linkOf('ann1') }, code: undefined, lifespan: LONG });
    await before.close();
    const after = await open(file);
    expect(await after.getSession('s1')).toMatchObject({ sub: 'ann', user: { name: 'Ann "Ace" Ö' } });
    expect(await after.linksOf('ann')).toEqual({ git: linkOf('ann1') });
    await after.close();
  });

  it('fails to open when another release made it', async () => {
    const file = newFile();
    await (await open(file)).close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 2');
    database.close();
    await expect(open(file)).rejects.toThrow(ConfigError);
    await expect(open(file)).rejects.toThrow(/auth\.db: its schema has version 2, this release reads 1/);
  });

  it('fails to open when another program made it, and stays unchanged', async () => {
    const file = newFile();
    await (await open(file)).close();
    const other = `${file}.other`;
    const database = new DatabaseSync(other);
    database.exec('CREATE TABLE notes (note TEXT); PRAGMA user_version = 1');
    database.close();
    await expect(open(other)).rejects.toThrow(/database of another program/);
    const again = new DatabaseSync(other);
    expect(again.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'notes' }]);
    again.close();
  });

  it('fails to open when it is no database', async () => {
    const file = newFile();
    await (await open(file)).close();
    const text = `${file}.txt`;
    writeFileSync(text, 'text '.repeat(1000));
    await expect(open(text)).rejects.toThrow(/damaged, or no database; move it away/);
    await expect(open(folder)).rejects.toThrow(ConfigError);
  });

  it('makes operations reject as unavailable after it is closed', async () => {
    const opened = await openTwice();
    await logIn(opened, 's1');
    await opened.close();
    await expect(opened.one.getSession('s1')).rejects.toThrow(StorageUnavailable);
    await expect(opened.one.endSession('s1')).rejects.toThrow(StorageUnavailable);
  });

  it('makes operations reject as unavailable while another process locks it', async () => {
    const file = newFile();
    const { one, close } = await openTwice(file);
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    await expect(one.count('bucket', LONG)).rejects.toThrow(StorageUnavailable);
    expect(await one.getLink('ann', 'git')).toBeUndefined();
    other.exec('COMMIT');
    other.close();
    expect(await one.count('bucket', LONG)).toBe(1);
    await close();
  });

  it('loses expired rows, a limited number at a time', async () => {
    const file = newFile();
    const { one, pass, close } = await openTwice(file);
    const ticket = { sub: 'ann', provider: 'git' };
    for (let index = 0; index < 600; index += 1) await one.put('ticket', `t${index}`, ticket, { lifespan: SHORT });
    const rows = () => {
      const database = new DatabaseSync(file, { readOnly: true });
      const [size] = Object.values(database.prepare('SELECT count(*) FROM plain').get() ?? {});
      database.close();
      return size;
    };
    expect(rows()).toBe(600);
    await pass(10_000);
    await one.count('bucket', LONG);
    expect(rows()).toBe(100);
    await pass(10_000);
    await one.count('bucket', LONG);
    expect(rows()).toBe(0);
    await close();
  });

  it('supports concurrent first opens, exact counts, and one redemption of a code', async () => {
    const file = newFile();
    const session = JSON.stringify(sessionOf('ann', 1_700_000_000_000));
    const module = join(import.meta.dirname, 'sqlite.ts');
    const program = `
      import { openSqliteStorage } from ${JSON.stringify(module)};
      const options = { file: ${JSON.stringify(file)}, now: () => 1700000000000, newId: () => 'id' + process.pid };
      const storage = await openSqliteStorage(options);
      const code = { id: 'c', row: ${JSON.stringify(codeOf('ann'))}, lifespan: 60000 };
      if ((await storage.count('first', 60000)) === 1)
        await storage.finishLogin({ sub: 'ann', links: {}, code, lifespan: 60000 });
      while ((await storage.getCode('c')) === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
      const key = 's' + process.pid;
      const { outcome } = await storage.redeemCode('c', { key, row: ${session}, lifespan: 60000 });
      for (let i = 0; i < 50; i += 1) await storage.count('bucket', 60000);
      await storage.close();
      process.exitCode = outcome === 'redeemed' ? 10 : outcome === 'replayed' ? 20 : 1;`;
    const codes = await Promise.all([1, 2, 3, 4].map(() => runNode(program)));
    expect(codes.toSorted()).toEqual([10, 20, 20, 20]);
    const storage = await open(file);
    expect(await storage.count('bucket', 60_000)).toBe(201);
    await storage.close();
  });
});

function runNode(program: string): Promise<number | null> {
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'], cwd: import.meta.dirname });
  return new Promise((resolve) => child.once('exit', resolve));
}
