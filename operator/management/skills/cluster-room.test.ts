import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ClusterRoom } from './cluster-room.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'vmcp-room-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const placeOf = () => join(base, `vmcp-skills-${process.getuid?.() ?? 'own'}`);

it('is a folder that nobody else reads or writes', async () => {
  const staging = await new ClusterRoom(base).run((folder) => Promise.resolve(folder));
  expect(dirname(staging)).toBe(placeOf());
  expect(lstatSync(placeOf()).mode & 0o777).toBe(0o700);
});

it('is not used where there is a folder that others may write to, or a link, of its name', async () => {
  const run = () => new ClusterRoom(base).run(() => Promise.resolve());
  mkdirSync(placeOf());
  chmodSync(placeOf(), 0o777);
  await expect(run()).rejects.toMatchObject({ code: 'internal' });
  rmSync(placeOf(), { recursive: true });
  mkdirSync(join(base, 'other'), { mode: 0o700 });
  symlinkSync(join(base, 'other'), placeOf());
  await expect(run()).rejects.toMatchObject({ code: 'internal' });
});

it('is for one after the other', async () => {
  const room = new ClusterRoom(base);
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await new Promise(setImmediate);
    order.push(`${name} ends`);
  };
  await Promise.all([room.run(work('one')), room.run(work('two'))]);
  expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});

it('is told to be busy where others work on skills too long', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const held = new ClusterRoom(base).run(() => promise);
  await new Promise(setImmediate);
  await expect(new ClusterRoom(base, 0).run(() => Promise.resolve())).rejects.toMatchObject({
    code: 'busy',
    status: 409,
  });
  resolve(undefined);
  await held;
});
