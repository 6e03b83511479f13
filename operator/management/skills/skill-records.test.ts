import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { Problem } from '../problem.ts';
import { configMapRecords } from '../stores/config-map-records.ts';
import { fileRecords } from '../stores/file-records.ts';
import type { RecordKind, Records, RecordStore } from '../stores/record-store.ts';
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
])('skills that several replicas write %s', (_where, open: () => Opened | Promise<Opened>) => {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  /** A replica that makes records of each kind in a way of its own. */
  const creating = (createOf: (kind: RecordKind, store: RecordStore) => RecordStore['create']) =>
    new SkillRecords((kind): RecordStore => {
      const store = opened.records(kind);
      return {
        list: () => store.list(),
        names: () => store.names(),
        get: (name) => store.get(name),
        create: createOf(kind, store),
        replace: (name, value, version) => store.replace(name, value, version),
        delete: (name, version) => store.delete(name, version),
      };
    });
  /** One that does something more each time when it has made a record of this kind. */
  const pausing = (at: RecordKind, meanwhile: (name: string) => Promise<unknown>) =>
    creating((kind, store) => async (name, value) => {
      const version = await store.create(name, value);
      if (kind === at) await meanwhile(name);
      return version;
    });
  /** One for which there is no room for a record of this name. */
  const without = (refused: string, problem: Problem) =>
    creating(
      (_kind, store) => (name, value) => (name === refused ? Promise.reject(problem) : store.create(name, value)),
    );
  const uninstall = async (name: string) => (await new SkillRecords(opened.records).settle()).delete(name);
  const left = async () => [
    ...(await opened.records('skills').names()),
    ...(await opened.records('skillchanges').names()),
  ];

  it('are not made anew when another one finished the change and uninstalled one of them before the first is written', async () => {
    const slow = pausing('skillchanges', () => uninstall('k1'));
    await expect(slow.write([made('k1'), made('k2')])).rejects.toMatchObject({ code: 'busy' });
    expect(await left()).toEqual(['k2']);
  });

  it('are not made anew when that happens between two of them', async () => {
    const slow = pausing('skills', (name) => (name === 'k1' ? uninstall('k2') : Promise.resolve()));
    await expect(slow.write([made('k1'), made('k2')])).rejects.toMatchObject({ code: 'busy' });
    expect(await left()).toEqual(['k1']);
  });

  it.each(['too_large', 'forbidden'] as const)(
    'are none of them written where there is no room for one (%s), and nobody is kept from uninstalling others',
    async (code) => {
      const writer = new SkillRecords(opened.records);
      await writer.write([made('old')]);
      const version = (await writer.list())[0]?.version ?? '';
      const full = without('k2', new Problem(code, 'exceeded quota'));
      const other = { ...made('old'), version };
      other.after = { ...other.after, digest: 'sha256:2' };
      await expect(full.write([other, made('k1'), made('k2')])).rejects.toMatchObject({ code });
      expect([await left(), (await writer.list())[0]?.version]).toEqual([['old'], version]);
      await uninstall('old');
      expect(await left()).toEqual([]);
    },
  );

  it('of a change that was left, and has no room now, are taken back by who comes next', async () => {
    const killed = pausing('skillchanges', () => Promise.reject(new Error('killed')));
    await expect(killed.write([made('k1'), made('k2')])).rejects.toThrow('killed');
    const full = without('k2', new Problem('too_large', 'there are 10000 records already'));
    expect((await full.list()).map(({ name }) => name)).toEqual(['k1', 'k2']);
    await full.settle();
    expect([await left(), await full.list()]).toEqual([[], []]);
  });

  it('stay to be written where the store only does not answer now', async () => {
    const away = without('k2', new Problem('unavailable', 'it is away'));
    await expect(away.write([made('k1'), made('k2')])).rejects.toMatchObject({ code: 'unavailable' });
    await expect(away.settle()).rejects.toMatchObject({ code: 'unavailable' });
    await new SkillRecords(opened.records).settle();
    expect(await left()).toEqual(['k1', 'k2']);
  });

  it('are written, and nobody is told to be busy, when another one only finished the change', async () => {
    const finish = async () => {
      await new SkillRecords(opened.records).settle();
    };
    await pausing('skillchanges', finish).write([made('k1'), made('k2')]);
    expect(await left()).toEqual(['k1', 'k2']);
  });
});
