import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { RegistryContent } from '../records/registry.ts';
import { fileRecords } from '../stores/file-records.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { CachedCopies } from './cached-copies.ts';
import { CurrentCopy } from './current-copy.ts';
import { type CachedPage, type Page, weighPage } from './page.ts';
import { RegistryMemory, type RegistryQuota } from './registry-quota.ts';

const SOURCE = 'https://registry.example/r';
const WEIGHT = 10_000;
const SERVER = { description: 'x'.repeat(WEIGHT), image: 'registry.example/one:1' };
const PAGE = weighPage({ from: SOURCE, content: RegistryContent.parse({ servers: { one: SERVER } }) });

let folder: string;
let store: RecordStore;
let kept: CachedCopies;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-live-copy-'));
  store = fileRecords(folder, 'default')('registrycopies');
  kept = new CachedCopies(store, 1_000_000);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Opening {
  read?: () => Promise<Page[]>;
  quota?: Partial<RegistryQuota>;
}

/** Opens a copy whose memory has capacity for two and a half pages. */
function open({ read = () => new Promise(() => undefined), quota = {} }: Opening) {
  const memory = new RegistryMemory(2.5 * WEIGHT);
  const problems: string[] = [];
  const copy = new CurrentCopy({
    ...{ name: 'default', source: SOURCE, kept, read, now: () => 1_000_000, onEvict: () => undefined },
    onProblem: (text) => void problems.push(text),
    quota: { read: (_signal, work) => work(), load: (_signal, work) => work(), memory, ...quota },
  });
  let isEvicted = false;
  memory.set({}, WEIGHT, () => (isEvicted = true));
  return { copy, problems, othersEvicted: () => isEvicted };
}

describe('CurrentCopy', () => {
  it.each([-1_000_000_000, undefined])('computes its weight when its record says %j', async (bytes) => {
    const { from, content } = PAGE;
    const page: CachedPage & { bytes?: number | undefined } = { from, content, bytes };
    await store.create('part.one.0', { text: gzipSync(JSON.stringify([page])).toString('base64') });
    await store.create('default', { source: SOURCE, id: 'one', parts: 1 });
    const { copy, othersEvicted } = open({ read: () => Promise.reject(new Error('no')) });
    expect(await copy.pages()).toMatchObject([{ from }]);
    expect(othersEvicted()).toBe(true);
  });

  it('serves its pages while the limit of reads is reached, asks again later and reports why', async () => {
    await kept.save('default', SOURCE, [PAGE]);
    let asked = 0;
    const limited = () => Promise.reject(new FetchFailure('timeout', `too many reads ${(asked += 1)}`));
    const { copy, problems } = open({ quota: { read: limited } });
    for (let at = 0; at < 2; at += 1) expect(await copy.pages()).toMatchObject([{ from: SOURCE }]);
    expect([asked, problems]).toEqual([1, [`registry ${SOURCE}: too many reads 1; what was read last is served`]]);
  });

  it('serves the stored copy after five seconds without an answer, and continues the read', async () => {
    await kept.save('default', SOURCE, [PAGE]);
    const wait = setTimeout;
    const waits: (number | undefined)[] = [];
    const hastened = jest
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation((then: () => void, milliseconds?: number) => {
        waits.push(milliseconds);
        return wait(then, (milliseconds ?? 0) / 100);
      });
    try {
      const reading = Promise.withResolvers<Page[]>();
      const { copy } = open({ read: () => reading.promise });
      expect(await copy.pages()).toMatchObject([{ from: SOURCE }]);
      expect(waits).toEqual([5000]);
      reading.resolve([{ ...PAGE, from: 'what came late' }]);
      await copy.refresh();
      expect(await copy.pages()).toMatchObject([{ from: 'what came late' }]);
    } finally {
      hastened.mockRestore();
    }
  });

  it('discards a read that ends after `drop`', async () => {
    const reading = Promise.withResolvers<Page[]>();
    const { copy, othersEvicted } = open({ read: () => reading.promise });
    const read = copy.refresh();
    copy.drop();
    reading.resolve([PAGE]);
    expect(await read).toEqual([PAGE]);
    expect([othersEvicted(), await store.names()]).toEqual([false, []]);
  });

  it('discards a load that ends after `drop`', async () => {
    await kept.save('default', SOURCE, [PAGE]);
    const { copy, othersEvicted } = open({ read: () => Promise.resolve([PAGE]) });
    const pages = copy.pages();
    copy.drop();
    expect(await pages).toMatchObject([{ from: SOURCE }]);
    expect(othersEvicted()).toBe(false);
  });
});
