import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '#operator/kubernetes/api/api-error';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { Problem } from '../problem.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import { fileRecords } from '../stores/file-records.ts';
import type { RecordKind, Records, RecordStore } from '../stores/record-store.ts';
import { unboundStore } from '../testdata/unbound-store.ts';
import { SkillRecords, type Write } from './skill-records.ts';

interface Opened {
  records: Records;
  close: () => Promise<void> | void;
}

async function openCluster(): Promise<Opened> {
  const server = await new ObjectServer().start();
  return {
    records: configMapRecords({ api: server.api(), namespace: 'team', apiGroup: 'vmcp.dev' }),
    close: () => server.close(),
  };
}

function openFiles(): Opened {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-skills-'));
  return { records: fileRecords(folder, 'default'), close: () => rmSync(folder, { recursive: true }) };
}

const made = (key: string): Write => ({
  key,
  after: {
    metadata: { name: key, description: 'What it does.' },
    ...{ scope: 'user', reference: `example.test/${key}`, digest: 'sha256:1', content: '1' },
    ...{ installed_at: '2026-01-01T00:00:00Z', status: 'installed', clients: [], dependencies: [], targets: [] },
  },
});

describe.each([
  ['in a cluster', openCluster],
  ['in files', openFiles],
])('SkillRecords that several replicas write %s', (_where, open: () => Opened | Promise<Opened>) => {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  /** Returns a replica that replaces how records of each kind are written. */
  const writing = (
    ownWay: (kind: RecordKind, store: RecordStore) => Partial<Pick<RecordStore, 'create' | 'replace'>>,
  ) =>
    new SkillRecords((kind): RecordStore => {
      const store = opened.records(kind);
      return {
        ...unboundStore(store),
        ...ownWay(kind, store),
      };
    });
  /** Returns a replica that runs `meanwhile` each time it has created a record of this kind. */
  const pausing = (at: RecordKind, meanwhile: (name: string) => Promise<unknown>) =>
    writing((kind, store) => ({
      create: async (name, value) => {
        const version = await store.create(name, value);
        if (kind === at) await meanwhile(name);
        return version;
      },
    }));
  /** Returns a replica whose store rejects a record of this name. */
  const without = (refused: string, problem: Problem) =>
    writing((_kind, store) => ({
      create: (name, value) => (name === refused ? Promise.reject(problem) : store.create(name, value)),
      replace: (name, value, version) =>
        name === refused ? Promise.reject(problem) : store.replace(name, value, version),
    }));
  const uninstall = async (name: string) => (await new SkillRecords(opened.records).settle()).delete(name);
  const left = async () => [
    ...(await opened.records('skills').names()),
    ...(await opened.records('skillchanges').names()),
  ];

  it('creates no record for a change that another replica finished and partly uninstalled later', async () => {
    const slow = pausing('skillchanges', () => uninstall('k1'));
    await expect(slow.write([made('k1'), made('k2')])).rejects.toMatchObject({ code: 'busy' });
    expect(await left()).toEqual(['k2']);
  });

  it('creates no such record if both happen between two writes', async () => {
    const slow = pausing('skills', (name) => (name === 'k1' ? uninstall('k2') : Promise.resolve()));
    await expect(slow.write([made('k1'), made('k2')])).rejects.toMatchObject({ code: 'busy' });
    expect(await left()).toEqual(['k1']);
  });

  // Without a code, an admission webhook answers 400; a policy of the API server answers 422.
  it.each([
    ['too_large', undefined],
    ['forbidden', undefined],
    ['bad_request', new ApiError('denied by a webhook', { status: 400, reason: 'BadRequest' })],
    ['bad_request', new ApiError('denied by a policy', { status: 422, reason: 'Invalid' })],
  ] as const)(
    'writes no record of a change that the store rejects (%s), and lets others be uninstalled',
    async (code, cause) => {
      const writer = new SkillRecords(opened.records);
      await writer.write([made('old')]);
      const version = (await writer.list())[0]?.version ?? '';
      const full = without('k2', new Problem(code, 'exceeded quota', { cause }));
      const other = { ...made('old'), version };
      other.after = { ...other.after, digest: 'sha256:2' };
      await expect(full.write([other, made('k1'), made('k2')])).rejects.toMatchObject({ code });
      expect([await left(), (await writer.list())[0]?.version]).toEqual([['old'], version]);
      await uninstall('old');
      expect(await left()).toEqual([]);
    },
  );

  it('reverts an abandoned change that no longer fits, on the next write', async () => {
    const killed = pausing('skillchanges', () => Promise.reject(new Error('killed')));
    await expect(killed.write([made('k1'), made('k2')])).rejects.toThrow('killed');
    const full = without('k2', new Problem('too_large', 'there are 10000 records already'));
    expect((await full.list()).map(({ name }) => name)).toEqual(['k1', 'k2']);
    await full.settle();
    expect([await left(), await full.list()]).toEqual([[], []]);
  });

  it('keeps a replacement pending while it is rejected, and lets others be uninstalled', async () => {
    const writer = new SkillRecords(opened.records);
    for (const key of ['k0', 'old']) await writer.write([made(key)]);
    const [, old] = await writer.list();
    const full = without('old', new Problem('forbidden', 'exceeded quota'));
    const change = [{ ...made('old'), version: old?.version }, made('k1')];
    await expect(full.write(change)).rejects.toMatchObject({ code: 'forbidden' });
    await (await full.settle()).delete('k0');
    expect(await left()).toEqual(['k1', 'old', expect.any(String)]);
    await writer.settle();
    expect(await left()).toEqual(['k1', 'old']);
  });

  it('limits the pending changes, so that their size does not block uninstalling', async () => {
    const writer = new SkillRecords(opened.records);
    for (const key of ['k', 'old']) await writer.write([made(key)]);
    const version = (await writer.list())[1]?.version ?? '';
    const full = without('old', new Problem('too_large', 'there is no room'));
    const long = { ...made('old'), version };
    long.after = { ...long.after, archive: 'x'.repeat(880_000) };
    for (let times = 0; times < 20; times += 1)
      await expect(full.write([long, made(`k${times % 8}`)])).rejects.toMatchObject({ code: 'too_large' });
    expect(await opened.records('skillchanges').names()).toHaveLength(8);
    await (await full.settle()).delete('k');
    expect((await writer.list()).map(({ name }) => name)).not.toContain('k');
  });

  it('neither writes nor forgets a change when the store receives an invalid request', async () => {
    await opened.records('skillchanges').create('c1', { writes: [made('k1'), made('no\nname')] });
    const writer = new SkillRecords(opened.records);
    for (let times = 0; times < 2; times += 1)
      await expect(writer.settle()).rejects.toMatchObject({ code: 'bad_request' });
    expect(await left()).toEqual(['k1', 'c1']);
  });

  it('keeps a change pending while the store does not answer', async () => {
    const away = without('k2', new Problem('unavailable', 'it is away'));
    await expect(away.write([made('k1'), made('k2')])).rejects.toMatchObject({ code: 'unavailable' });
    await expect(away.settle()).rejects.toMatchObject({ code: 'unavailable' });
    await new SkillRecords(opened.records).settle();
    expect(await left()).toEqual(['k1', 'k2']);
  });

  it('writes without a busy error when another replica only finished the change', async () => {
    const finish = async () => {
      await new SkillRecords(opened.records).settle();
    };
    await pausing('skillchanges', finish).write([made('k1'), made('k2')]);
    expect(await left()).toEqual(['k1', 'k2']);
  });
});
