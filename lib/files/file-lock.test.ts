import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FileLock, LockBusy } from './file-lock.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-file-lock-'));
  path = join(folder, 'below', 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a process that holds the lock until it is killed. */
async function holder() {
  const program = `
    import { FileLock } from ${JSON.stringify(join(import.meta.dirname, 'file-lock.ts'))};
    await new FileLock(${JSON.stringify(path)}).run(() => { console.log('held'); return new Promise((r) => setTimeout(r, 60_000)); });`;
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

describe('FileLock', () => {
  it('runs one work at a time in order of arrival, also for several instances', async () => {
    const [lock, other] = [new FileLock(path), new FileLock(path)];
    let inside = 0;
    const order: number[] = [];
    const work = (n: number) => async () => {
      expect((inside += 1)).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside -= 1;
      order.push(n);
      return n;
    };
    const done = await Promise.all([
      ...[1, 2, 3].map((n) => lock.run(work(n))),
      ...[11, 12, 13].map((n) => other.run(work(n))),
    ]);
    expect(done).toEqual([1, 2, 3, 11, 12, 13]);
    expect([order.filter((n) => n < 10), order.filter((n) => n > 10)]).toEqual([
      [1, 2, 3],
      [11, 12, 13],
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('releases the lock after a failure', async () => {
    const lock = new FileLock(path);
    await expect(lock.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(
      lock.run(() => {
        throw new Error('neither');
      }),
    ).rejects.toThrow('neither');
    expect(await new FileLock(path).run(() => 1)).toBe(1);
  });

  it('waits until another process is killed, and rejects after its deadline', async () => {
    const child = await holder();
    const refused = new FileLock(path, { deadline: 50 }).run(() => 1);
    await expect(refused).rejects.toThrow(LockBusy);
    await expect(refused).rejects.toThrow('another vmcp is writing there');
    const waiting = new FileLock(path).run(() => 2);
    child.kill('SIGKILL');
    expect(await waiting).toBe(2);
  });

  it('limits the number of waiting calls', async () => {
    const lock = new FileLock(path);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const all = Array.from({ length: 1001 }, () => lock.run(() => promise));
    await expect(all[1000]).rejects.toThrow(LockBusy);
    resolve(undefined);
    await Promise.all(all.slice(0, 1000));
  });
});
