import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StagingSemaphore } from './staging-semaphore.ts';
import { withStaging } from './staging.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'vmcp-staging-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const stagingFolder = () => join(base, `vmcp-skills-${process.getuid?.() ?? 'own'}`);
const WAITED_FOR = new AbortController().signal;
const nothing = () => Promise.resolve();

/** A semaphore whose work runs until `endAll`. */
function openEnded(patience?: number) {
  const semaphore = new StagingSemaphore(base, patience);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const begun: string[] = [];
  const run = (namespace: string, name = namespace, signal = WAITED_FOR) =>
    semaphore.run(namespace, signal, () => {
      begun.push(name);
      return promise;
    });
  return { semaphore, begun, run, endAll: () => resolve(undefined) };
}

async function untilLength(list: readonly unknown[], length: number): Promise<void> {
  while (list.length < length) await turn();
}

describe('StagingSemaphore', () => {
  it('makes a folder that other users cannot read or write', async () => {
    const staging = await new StagingSemaphore(base).run('a', WAITED_FOR, (folder) => Promise.resolve(folder));
    expect(dirname(staging)).toBe(stagingFolder());
    expect(lstatSync(stagingFolder()).mode & 0o777).toBe(0o700);
  });

  it('rejects a folder that other users can write to, and a symbolic link', async () => {
    const run = () => new StagingSemaphore(base).run('a', WAITED_FOR, nothing);
    mkdirSync(stagingFolder());
    chmodSync(stagingFolder(), 0o777);
    await expect(run()).rejects.toMatchObject({ code: 'internal' });
    rmSync(stagingFolder(), { recursive: true });
    mkdirSync(join(base, 'other'), { mode: 0o700 });
    symlinkSync(join(base, 'other'), stagingFolder());
    await expect(run()).rejects.toMatchObject({ code: 'internal' });
  });

  it('removes files that a killed process left', async () => {
    const left = join(stagingFolder(), 'staging', '1.killed.0a');
    mkdirSync(join(left, '1'), { recursive: true });
    chmodSync(stagingFolder(), 0o700);
    const work = (parent: string) => withStaging(parent, () => Promise.resolve(readdirSync(parent)));
    const seen = await new StagingSemaphore(base).run('a', WAITED_FOR, work);
    expect(seen).toHaveLength(1);
    expect(readdirSync(dirname(left))).toEqual([]);
  });

  it('stages one skill per namespace, and four namespaces at once', async () => {
    const { begun, run, endAll } = openEnded();
    const asked = [
      ['a', 'a1'],
      ['a', 'a2'],
      ['b', 'b1'],
      ['c', 'c1'],
      ['d', 'd1'],
      ['e', 'e1'],
    ] as const;
    const all = asked.map(([namespace, name]) => run(namespace, name));
    await untilLength(begun, 4);
    await turn();
    expect([...begun].sort()).toEqual(['a1', 'b1', 'c1', 'd1']);
    endAll();
    await Promise.all(all);
    expect(begun.slice(4).sort()).toEqual(['a2', 'e1']);
  });

  it('rejects a wait that is too long: busy for the own namespace, unavailable for other namespaces', async () => {
    const { begun, run, endAll } = openEnded(50);
    const all = ['a', 'b', 'c', 'd'].map((namespace) => run(namespace));
    await untilLength(begun, 4);
    await expect(run('a')).rejects.toMatchObject({ code: 'busy', status: 409 });
    await expect(run('e')).rejects.toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '5' } });
    endAll();
    await Promise.all(all);
    await run('e');
    // Four skills are staged at once; the file system decides which of them creates its folder first.
    expect([begun.slice(0, 4).sort(), begun.slice(4)]).toEqual([['a', 'b', 'c', 'd'], ['e']]);
  });

  it('bounds the skills that wait, per namespace and in all', async () => {
    const { begun, run, endAll } = openEnded();
    const all = [run('a')];
    await untilLength(begun, 1);
    for (let nr = 0; nr < 8; nr += 1) all.push(run('a'));
    await expect(run('a')).rejects.toMatchObject({ code: 'too_many_requests', headers: { 'Retry-After': '5' } });
    for (const namespace of ['b', 'c', 'd']) all.push(run(namespace));
    await untilLength(begun, 4);
    for (let nr = 0; nr < 24; nr += 1) all.push(run(`e${nr}`));
    await expect(run('f')).rejects.toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '5' } });
    endAll();
    await Promise.all(all);
    expect(begun).toHaveLength(36);
  });

  it('stages nothing for a caller that is gone', async () => {
    const { begun, run, endAll } = openEnded();
    const first = run('a');
    const gone = new AbortController();
    const second = run('a', 'gone', gone.signal);
    gone.abort();
    await expect(second).rejects.toMatchObject({ code: 'busy' });
    await expect(run('b', 'gone already', AbortSignal.abort())).rejects.toMatchObject({ code: 'unavailable' });
    endAll();
    await first;
    expect(begun).toEqual(['a']);
  });
});
