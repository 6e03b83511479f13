import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { recordStoreContract } from './contract/record-store.contract.ts';
import { fileRecords } from './file-records.ts';
import { MOST_RECORDS } from './record-store.ts';

recordStoreContract('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-records-'));
  return {
    one: fileRecords(folder, 'default'),
    two: fileRecords(folder, 'default'),
    elsewhere: fileRecords(folder, 'other'),
    damage: (name) => writeFileSync(join(folder, 'default', 'clients', `${name}.json`), '{"name":'),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
});

function runNode(program: string) {
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  return { child, ended };
}

/** Returns a program that opens the store of clients. */
const program = (folder: string, then: string) => `
  import { fileRecords } from ${JSON.stringify(join(import.meta.dirname, 'file-records.ts'))};
  const store = fileRecords(${JSON.stringify(folder)}, 'default')('clients');
  ${then}`;

describe('fileRecords', () => {
  let folder: string;
  let clients: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vmcp-records-'));
    clients = join(folder, 'default', 'clients');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('creates files that only their owner can access, inside of the folder for any name', async () => {
    await fileRecords(folder, '../../x')('clients').create('../../../y', 1);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^x-[0-9a-f]{40}$/)]);
    await fileRecords(folder, 'default')('clients').create('a', 1);
    expect(statSync(clients).mode & 0o777).toBe(0o700);
    expect(readdirSync(clients).map((file) => [file, statSync(join(clients, file)).mode & 0o777])).toEqual([
      ['.lock', 0o600],
      ['a.json', 0o600],
    ]);
  });

  it('limits the number of records', async () => {
    const store = fileRecords(folder, 'default')('clients');
    await store.create('first', 1);
    for (let n = 1; n < MOST_RECORDS; n += 1) writeFileSync(join(clients, `r${n}.json`), '');
    await expect(store.create('more', 1)).rejects.toMatchObject({ code: 'too_large' });
    rmSync(join(clients, 'r1.json'));
    await store.create('more', 1);
    expect((await store.get('more'))?.value).toBe(1);
  });

  it('loses no change of several processes', async () => {
    await fileRecords(folder, 'default')('clients').create('count', 0);
    const count = `
      for (let done = 0; done < 25; ) {
        const { value, version } = await store.get('count');
        try { await store.replace('count', value + 1, version); done += 1; }
        catch (problem) { if (problem.code !== 'stale') throw problem; }
      }`;
    const codes = await Promise.all([1, 2, 3].map(() => runNode(program(folder, count)).ended));
    expect(codes).toEqual([0, 0, 0]);
    expect((await fileRecords(folder, 'default')('clients').get('count'))?.value).toBe(75);
  });

  it('keeps complete files and a free lock after a process was killed while it wrote', async () => {
    const write = `
      const long = (n) => ({ n, text: 'x'.repeat(400_000) });
      let version = await store.create('a', long(0));
      for (let n = 1; ; n += 1) {
        version = await store.replace('a', long(n), version);
        console.log(n);
      }`;
    const store = fileRecords(folder, 'default')('clients');
    for (let kill = 0; kill < 5; kill += 1) {
      const { child, ended } = runNode(program(folder, write));
      let told = 0;
      await new Promise<void>((resolve) => {
        child.stdout.on('data', () => {
          if ((told += 1) > 3 * kill) resolve();
        });
      });
      child.kill('SIGKILL');
      await ended;
      const { value, version } = (await store.get('a'))!;
      expect((value as { text: string }).text).toHaveLength(400_000);
      await store.replace('a', 1, version);
      expect(await store.delete('a')).toBe(true);
    }
  });

  it('removes the unfinished files of a killed process on the next write', async () => {
    mkdirSync(clients, { recursive: true });
    writeFileSync(join(clients, 'a.json.0123456789ab.tmp'), '{"na');
    const store = fileRecords(folder, 'default')('clients');
    expect(await store.list()).toEqual([]);
    await store.create('b', 1);
    expect(readdirSync(clients)).toEqual(['.lock', 'b.json']);
  });

  it('names a damaged record and leaves it as it is', async () => {
    const store = fileRecords(folder, 'default')('clients');
    const version = await store.create('a', 1);
    writeFileSync(join(clients, 'a.json'), 'half');
    await expect(store.replace('a', 2, version)).rejects.toMatchObject({
      code: 'store_damaged',
      message: expect.stringContaining(`${join(clients, 'a.json')} is no record`),
    });
    await expect(store.delete('a')).rejects.toMatchObject({ code: 'store_damaged' });
    expect(readFileSync(join(clients, 'a.json'), 'utf8')).toBe('half');
  });

  it('reports a path that cannot be created, with the remedy', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(fileRecords(join(folder, 'file'), 'default')('clients').create('a', 1)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('a folder on its path is a file'),
    });
  });

  it('reports a folder that is not writable, with the remedy', async () => {
    const refused = await asNobody(folder, program(folder, REFUSED));
    expect(refused).toMatch(/^internal: .*change its owner or mode/);
  });
});

const REFUSED = `await store.create('a', 1).catch((problem) => console.log(problem.code + ': ' + problem.message));`;

/** Runs a program as a user without permission for the folder, because root may write everywhere. Returns its output. */
async function asNobody(folder: string, text: string): Promise<string> {
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  if (nobody) chownSync(folder, nobody.uid, nobody.gid);
  chmodSync(folder, 0o500);
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', text];
  const options = { ...nobody, cwd: import.meta.dirname, encoding: 'utf8' as const, timeout: 20_000 };
  return (await promisify(execFile)(process.execPath, args, options)).stdout;
}
