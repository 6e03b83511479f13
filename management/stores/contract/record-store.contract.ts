import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Records, RecordStore } from '../record-store.ts';

/** Stores of one namespace, opened twice as by two processes, and stores of another namespace. */
export interface OpenedRecords {
  one: Records;
  two: Records;
  elsewhere: Records;
  /** Writes invalid content to the record of `clients`. */
  damage: (name: string) => void | Promise<void>;
  close: () => void | Promise<void>;
}

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'nothing',
    (problem: unknown) => (problem as { code?: unknown }).code ?? problem,
  );
}

/** Increments a counter until no other writer was faster. */
async function countUp(store: RecordStore): Promise<void> {
  for (;;) {
    const { value, version } = (await store.get('count'))!;
    const refused = await codeOf(store.replace('count', { n: (value as { n: number }).n + 1 }, version));
    if (refused === 'nothing') return;
    if (refused !== 'stale') throw new Error(String(refused));
  }
}

const ODD_NAMES = [
  '../../etc/passwd',
  '..',
  'a/b',
  'A',
  'a',
  `x-${'0'.repeat(40)}`,
  // The key of `A`.
  `x-${createHash('sha256').update('A').digest('hex').slice(0, 40)}`,
  'ä ö',
  'con',
  '.',
  'y'.repeat(253),
];

/** Tests every kind of store. */
export function recordStoreContract(name: string, open: () => OpenedRecords | Promise<OpenedRecords>): void {
  describe(`records in ${name}`, () => {
    let opened: OpenedRecords;
    let store: RecordStore;
    let other: RecordStore;
    beforeEach(async () => {
      opened = await open();
      [store, other] = [opened.one('clients'), opened.two('clients')];
    });
    afterEach(() => opened.close());

    it('lists its names without the documents', async () => {
      await store.create('b/c', { deep: true });
      await other.create('a', 1);
      await opened.one('skills').create('c', 1);
      expect([await store.names(), await other.names()]).toEqual([
        ['a', 'b/c'],
        ['a', 'b/c'],
      ]);
    });

    it('keeps documents unchanged, and lists them by name', async () => {
      expect([await store.list(), await store.get('b')]).toEqual([[], undefined]);
      const value = { name: 'b', groups: ['x'], deep: { nothing: null, text: 'ä"\n' } };
      const version = await store.create('b', value);
      await other.create('a', 1);
      expect(await other.get('b')).toEqual({ name: 'b', value, version });
      expect((await store.list()).map((record) => [record.name, record.value])).toEqual([
        ['a', 1],
        ['b', value],
      ]);
    });

    it('separates kinds and namespaces', async () => {
      await store.create('a', 1);
      expect([await opened.one('skills').get('a'), await opened.one('skills').list()]).toEqual([undefined, []]);
      expect([await opened.elsewhere('clients').get('a'), await opened.elsewhere('clients').list()]).toEqual([
        undefined,
        [],
      ]);
    });

    it('creates a record once', async () => {
      await store.create('a', 1);
      expect(await codeOf(other.create('a', 2))).toBe('already_exists');
      expect((await store.get('a'))?.value).toBe(1);
    });

    it('replaces only the latest version, and changes the version with each write', async () => {
      const first = await store.create('a', 1);
      const second = await other.replace('a', 2, first);
      expect(await codeOf(store.replace('a', 3, first))).toBe('stale');
      expect(await other.get('a')).toEqual({ name: 'a', value: 2, version: second });
      const third = await store.replace('a', 2, second);
      expect(new Set([first, second, third]).size).toBe(3);
      expect(await codeOf(store.replace('b', 1, third))).toBe('stale');
    });

    it('deletes a record, or only the version that was read', async () => {
      const first = await store.create('a', 1);
      await store.replace('a', 2, first);
      expect(await codeOf(other.delete('a', first))).toBe('stale');
      expect((await store.get('a'))?.value).toBe(2);
      const { version } = (await store.get('a'))!;
      expect([await other.delete('a', version), await other.delete('a'), await store.get('a')]).toEqual([
        true,
        false,
        undefined,
      ]);
      expect(await codeOf(other.delete('a', version))).toBe('stale');
      await store.create('a', 3);
      expect(await store.delete('a')).toBe(true);
    });

    it('accepts any name, and confuses no two names', async () => {
      for (const odd of ODD_NAMES) await store.create(odd, odd);
      for (const odd of ODD_NAMES) expect(await other.get(odd)).toMatchObject({ name: odd, value: odd });
      expect((await store.list()).map((record) => record.name).sort()).toEqual(ODD_NAMES.toSorted());
    });

    it.each(['', 'a\0b', 'a\nb', 'z'.repeat(254)])('rejects a name such as %j', async (bad) => {
      expect(await codeOf(store.create(bad, 1))).toBe('bad_request');
      expect(await codeOf(store.get(bad))).toBe('bad_request');
    });

    it('limits the size, and writes nothing beyond it', async () => {
      const version = await store.create('a', 1);
      // The quotes add two bytes.
      expect(await codeOf(store.create('b', 'x'.repeat(899_999)))).toBe('too_large');
      expect(await codeOf(store.replace('a', 'x'.repeat(899_999), version))).toBe('too_large');
      expect((await store.list()).map((record) => record.value)).toEqual([1]);
      await store.create('c', 'x'.repeat(899_998));
      expect((await other.get('c'))?.value).toHaveLength(899_998);
    });

    it('names a damaged record and leaves it as it is', async () => {
      const version = await store.create('a', 1);
      await store.create('b', 2);
      await opened.damage('a');
      const refusals = [store.get('a'), store.list()].map((call) => codeOf(call));
      expect(await Promise.all(refusals)).toEqual(['store_damaged', 'store_damaged']);
      expect(await codeOf(store.create('a', 3))).not.toBe('nothing');
      expect(await codeOf(store.replace('a', 3, version))).not.toBe('nothing');
      expect((await store.get('b'))?.value).toBe(2);
    });

    it('loses no concurrent change', async () => {
      await store.create('count', { n: 0 });
      await Promise.all(Array.from({ length: 20 }, (_, index) => countUp(index % 2 === 0 ? store : other)));
      expect((await other.get('count'))?.value).toEqual({ n: 20 });
      const made = await Promise.all(
        Array.from({ length: 10 }, (_, n) => codeOf((n % 2 === 0 ? store : other).create('once', n))),
      );
      expect(made.filter((code) => code === 'nothing')).toHaveLength(1);
      expect(made.filter((code) => code === 'already_exists')).toHaveLength(9);
    });
  });
}
