import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Status } from '#crds/kinds/status';
import { FileLock } from '#lib/files/file-lock';
import { fileRecords } from '../stores/file-records.ts';
import { folderConfigMaps } from '../stores/folder-config-maps.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import { BackgroundWork } from './background-work.ts';
import { localRuntime } from './local-runtime.ts';
import { PermissionProfiles } from './permission-profiles.ts';
import { SEARCH, type WorkloadsFixture, openWorkloadsFixture } from './testdata/workloads-fixture.ts';
import { Workloads } from './workloads.ts';

const BEGUN = Date.parse('2026-01-01T00:00:00Z');
const AT = '2026-01-01T00:00:00.000Z';
const MINUTE = 60_000;

let fixture: WorkloadsFixture;
let statuses: Map<string, Status>;
let now: number;
/** Actions between two reads of the state, in this order. */
let meanwhile: (() => unknown)[];

const ready = (restartedAt?: string): Status => ({
  phase: 'Ready',
  conditions: [],
  ...(restartedAt !== undefined && { restartedAt }),
});

beforeEach(() => {
  fixture = openWorkloadsFixture({
    'a.yaml': SEARCH.replace('search #', 'a #'),
    'b.yaml': SEARCH.replace('search #', 'b #'),
  });
  statuses = new Map(['a', 'b'].map((name) => [name, ready()]));
  now = BEGUN;
  meanwhile = [];
});
afterEach(() => fixture.remove());

/** Opens the work of running workloads, whose statuses the test sets. */
function open() {
  const files = new ManifestFiles(fixture.folder, new FileLock(join(fixture.state.path, 'manifests.lock')));
  const statusOf = ({ name }: { name: string }) => statuses.get(name);
  const resources = folderResources({ files, namespace: 'default', statusOf, now: () => now });
  const profiles = new PermissionProfiles(folderConfigMaps(files, 'default'));
  const look = () => Promise.resolve(() => ({ isRunning: true }));
  const workloads = new Workloads({ resources, profiles, runtime: { ...localRuntime(fixture.state), look } });
  const records = fileRecords(join(fixture.state.path, 'records'), 'default')('operations');
  const work = new BackgroundWork({
    records,
    workloads,
    now: () => now,
    onFailure: (text) => void fixture.failures.push(text),
    async pause() {
      const next = meanwhile.shift();
      if (!next) throw new Error('it waits for longer than this test goes on');
      await next();
    },
  });
  const begin = async () => work.begin('restart', await workloads.all());
  return { work, records, begin };
}

const askedIn = (file: string) => fixture.read(file).includes('restarted-at');

describe('restart of many workloads', () => {
  it('ends when the last workload has restarted, not when the request is written', async () => {
    const { work, begin } = open();
    const seen: string[][] = [];
    const look = async () => {
      const { status, workloads } = await work.get(id);
      seen.push([status, ...workloads.map((one) => one.status), String(askedIn('a.yaml') && askedIn('b.yaml'))]);
    };
    meanwhile.push(
      look,
      () => statuses.set('b', ready('2025-12-31T00:00:00.000Z')),
      look,
      () => statuses.set('b', ready(AT)),
      look,
      () => {
        now += MINUTE;
        statuses.set('a', ready(AT));
      },
    );
    const id = await begin();
    await work.idle();
    expect(seen).toEqual([
      ['running', 'pending', 'pending', 'true'],
      ['running', 'pending', 'pending', 'true'],
      ['running', 'pending', 'done', 'true'],
    ]);
    expect(await work.get(id)).toMatchObject({ status: 'succeeded', finished_at: '2026-01-01T00:01:00.000Z' });
    expect(fixture.failures).toEqual([]);
  });

  it('fails with the state of a workload that does not restart in time, and continues', async () => {
    const { work, begin } = open();
    const message = '0 of 1 pods are ready.';
    const condition = { type: 'Ready', status: 'False', reason: 'Rolls', message } as const;
    const lastTransitionTime = AT;
    statuses.set('a', { ...ready(), conditions: [{ ...condition, lastTransitionTime, observedGeneration: 1 }] });
    statuses.set('b', ready(AT));
    meanwhile.push(...Array.from({ length: 6 }, () => () => (now += MINUTE)));
    const id = await begin();
    await work.idle();
    const detail = `a is not started anew but starting: It is being started anew. ${message}`;
    expect(await work.get(id)).toMatchObject({
      status: 'failed',
      workloads: [
        { name: 'a', status: 'failed', code: 'unavailable', detail },
        { name: 'b', status: 'done' },
      ],
    });
    expect([meanwhile, askedIn('a.yaml')]).toEqual([[], true]);
  });

  it('fails at once with the reason when a workload cannot run or was deleted', async () => {
    const { work, begin } = open();
    const condition = { type: 'Stalled', status: 'True', reason: 'No', message: 'its image is refused' } as const;
    statuses.set('a', {
      phase: 'Failed',
      conditions: [{ ...condition, lastTransitionTime: AT, observedGeneration: 1 }],
    });
    meanwhile.push(() => fixture.write('b.yaml', ''));
    const id = await begin();
    await work.idle();
    expect((await work.get(id)).workloads).toEqual([
      {
        ...{ name: 'a', status: 'failed', code: 'unavailable' },
        detail: 'a is not started anew but error: its image is refused',
      },
      { name: 'b', status: 'failed', code: 'not_found', detail: 'there is no workload "b"' },
    ]);
  });

  it('does not wait for a workload that was stopped meanwhile', async () => {
    const { work, begin } = open();
    statuses.set('b', ready(AT));
    meanwhile.push(() =>
      fixture.write('a.yaml', fixture.read('a.yaml').replace('spec:\n', 'spec:\n  suspend: true\n')),
    );
    const id = await begin();
    await work.idle();
    expect((await work.get(id)).status).toBe('succeeded');
  });

  it('lets the next process wait up to the original deadline, without another request', async () => {
    const first = open();
    meanwhile.push(() => void first.work.close());
    const id = await first.begin();
    await first.work.idle();
    expect((await first.work.get(id)).status).toBe('running');
    const written = fixture.read('a.yaml');
    const next = open();
    now += 6 * MINUTE;
    await next.work.resume();
    await next.work.idle();
    expect((await next.work.get(id)).workloads.map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect([fixture.read('a.yaml'), fixture.failures]).toEqual([written, []]);
  });

  it('stays with its process while that process waits for it', async () => {
    const [mine, other] = [open(), open()];
    // Each read by another process that resumed the work would end this list too early.
    const ask = () => void (now += 15_000);
    meanwhile.push(ask, ask, ask, async () => {
      expect((await other.work.get(id)).status).toBe('running');
      for (const name of ['a', 'b']) statuses.set(name, ready(AT));
      await other.work.idle();
      expect((await mine.work.get(id)).status).toBe('running');
    });
    const id = await mine.begin();
    await mine.work.idle();
    expect([(await mine.work.get(id)).status, fixture.failures]).toEqual(['succeeded', []]);
  });
});
