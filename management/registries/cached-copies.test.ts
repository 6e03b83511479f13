import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { fileRecords } from '../stores/file-records.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { unboundStore } from '../testdata/unbound-store.ts';
import { CachedCopies } from './cached-copies.ts';

let folder: string;
let store: RecordStore;
let copies: CachedCopies;
let asked: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-copies-'));
  const records = fileRecords(folder, 'default')('registrycopies');
  asked = [];
  store = {
    ...unboundStore(records),
    get: (name) => {
      asked.push(name);
      return records.get(name);
    },
  };
  copies = new CachedCopies(store, 1_000_000);
});
afterEach(() => rmSync(folder, { recursive: true }));

const save = (name = 'default') => copies.save(name, 'source', []);
const parts = async () => (await store.names()).filter((name) => name.startsWith('part.'));

it('CachedCopies removes the parts of the previous copy and of killed processes', async () => {
  await store.create('part.killed.0', { text: '' });
  await save();
  const [former] = await parts();
  await save();
  expect(await parts()).toHaveLength(1);
  expect(await parts()).not.toContain(former);
  expect(await copies.load('default', 'source')).toEqual([]);
  await copies.remove('default');
  expect(await store.names()).toEqual([]);
});

it('CachedCopies reads no other heads if there are many, and removes the parts of the previous copy', async () => {
  for (let at = 0; at < 40; at += 1) await store.create(`head-${at}`, { source: '', id: `${at}`, parts: 1 });
  await store.create('part.39.0', { text: '' });
  await save();
  asked = [];
  await save();
  expect(asked).toEqual(['default']);
  // One part is of another source, one of the current copy.
  expect((await parts()).filter((name) => name !== 'part.39.0')).toEqual([
    expect.stringMatching(/^part\.[0-9a-f]{18}\.0$/),
  ]);
  expect(await parts()).toContain('part.39.0');
  expect(await copies.load('default', 'source')).toEqual([]);
});
