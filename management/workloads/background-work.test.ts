import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fileRecords } from '../stores/file-records.ts';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.ts';
import { BackgroundWork } from './background-work.ts';
import { unboundStore } from '../testdata/unbound-store.ts';
import { SEARCH, type WorkloadsFixture, openWorkloadsFixture } from './testdata/workloads-fixture.ts';
import type { RecordStore } from '../stores/record-store.ts';

let fixture: WorkloadsFixture;
let records: RecordStore;
let now: number;
beforeEach(() => {
  fixture = openWorkloadsFixture({
    'a.yaml': SEARCH.replace('search #', 'a #'),
    'b.yaml': SEARCH.replace('search #', 'b #'),
  });
  records = fileRecords(join(fixture.state.path, 'records'), 'default')('operations');
  now = Date.parse('2026-01-01T00:00:00Z');
});
afterEach(() => fixture.remove());

const open = (more: Partial<ConstructorParameters<typeof BackgroundWork>[0]> = {}): BackgroundWork =>
  new BackgroundWork({
    records,
    workloads: fixture.services().workloads,
    now: () => now,
    onFailure: (text) => void fixture.failures.push(text),
    ...more,
  });
const all = () => fixture.services().workloads.all();
const names = async () => (await all()).map(({ name }) => name);

/** Creates work whose process ended before its first step. */
async function left(type: 'delete' | 'restart'): Promise<string> {
  const work = open();
  const id = await work.begin(type, []);
  const [record] = await records.list();
  const workloads = (await all()).map(({ name }) => ({ name, status: 'pending', identity: '' }));
  const value = { ...(record?.value as object), status: 'running', workloads };
  await records.replace(
    id,
    Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'finished_at')),
    record?.version ?? '',
  );
  return id;
}

/** Creates 25 unfinished deletions, each of a workload that no longer exists. */
async function leftMany(): Promise<void> {
  const first = await left('delete');
  const record = await records.get(first);
  await records.delete(first);
  for (let number = 10; number < 35; number += 1) {
    const id = `${first.slice(0, -2)}${number}`;
    const workloads = [{ name: `gone-${number}`, status: 'pending', identity: '' }];
    await records.create(id, { ...(record?.value as object), id, workloads });
  }
}

/** Holds all writes until `goOn`; `begun` lists the pending writes. */
function heldStore(): { held: RecordStore; begun: Set<string>; goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const begun = new Set<string>();
  const held: RecordStore = {
    ...unboundStore(records),
    async replace(name, value, version) {
      begun.add(name);
      await promise;
      return records.replace(name, value, version);
    },
  };
  return { held, begun, goOn: () => resolve(undefined) };
}

describe('BackgroundWork', () => {
  it('ends at once when there is nothing to do', async () => {
    const work = open();
    const id = await work.begin('delete', []);
    expect(await work.get(id)).toEqual({
      id,
      type: 'delete',
      status: 'succeeded',
      created_at: '2026-01-01T00:00:00.000Z',
      finished_at: '2026-01-01T00:00:00.000Z',
      workloads: [],
    });
  });

  it('resumes work that another process left', async () => {
    const id = await left('delete');
    const next = open();
    await next.resume();
    await next.idle();
    expect([(await next.get(id)).status, await names()]).toEqual(['succeeded', []]);
  });

  it('resumes abandoned work on a request, but only after its timeout', async () => {
    const id = await left('delete');
    const next = open();
    now += 29_000;
    expect((await next.get(id)).status).toBe('running');
    await next.idle();
    expect(await names()).toEqual(['a', 'b']);
    now += 2000;
    await next.get(id);
    await next.idle();
    expect([(await next.get(id)).status, await names()]).toEqual(['succeeded', []]);
  });

  it('deletes no newer workload of the same name', async () => {
    const work = open();
    const former = (await all()).map((one) => ({ ...one, createdAt: '2020-01-01T00:00:00Z' }));
    const id = await work.begin('delete', former);
    await work.idle();
    expect([(await work.get(id)).status, await names()]).toEqual(['succeeded', ['a', 'b']]);
  });

  it('restarts no newer workload of the same name', async () => {
    const work = open();
    const former = (await all()).map((one) => ({ ...one, createdAt: '2020-01-01T00:00:00Z' }));
    await work.begin('restart', former);
    await work.idle();
    for (const { annotations } of await all()) expect(annotations).toEqual({});
  });

  it('removes the remains of a workload whose deletion was recorded in part', async () => {
    const profile = join(fixture.folder, 'configmap-a-permissions.yaml');
    const { workloads } = fixture.services();
    await workloads.edit('a', { permission_profile: { read: ['/a'] } }, () => Promise.resolve(), {});
    expect(fixture.files()).toContain('configmap-a-permissions.yaml');
    const id = await left('delete');
    fixture.write('a.yaml', '');
    const next = open();
    await next.resume();
    await next.idle();
    expect((await next.get(id)).status).toBe('succeeded');
    expect(fixture.files()).not.toContain(profile.split('/').at(-1));
  });

  it('restarts once: a restart keeps its timestamp', async () => {
    const id = await left('restart');
    await Promise.all(
      [open(), open()].map(async (work) => {
        await work.resume();
        await work.idle();
      }),
    );
    expect((await open().get(id)).status).toBe('succeeded');
    for (const { annotations } of await all())
      expect(annotations['vmcp.dev/restarted-at']).toBe('2026-01-01T00:00:00.000Z');
  });

  it('fails with the reason when a step fails, and completes the other steps', async () => {
    fixture.write(
      'a.yaml',
      'apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: { name: a, labels: { x: *t }, annotations: { vmcp.dev/restarted-at: &t "2020" } }\nspec: { image: x }\n'.replace(
        'labels: { x: *t }, annotations: { vmcp.dev/restarted-at: &t "2020" }',
        'annotations: { vmcp.dev/restarted-at: &t "2020" }, labels: { x: *t }',
      ),
    );
    const work = open();
    const id = await work.begin('restart', await all());
    await work.idle();
    expect(await work.get(id)).toEqual(
      expect.objectContaining({
        status: 'failed',
        workloads: [
          { name: 'a', status: 'failed', code: 'conflict', detail: expect.stringContaining('a.yaml') },
          { name: 'b', status: 'done' },
        ],
      }),
    );
  });

  it('stops when its process ends, and reports that state later', async () => {
    const work = open();
    const id = await work.begin('delete', await all());
    await work.close();
    const next = open();
    const before = await next.get(id);
    await next.resume();
    await next.idle();
    expect([before.status, (await next.get(id)).status]).toEqual(['running', 'succeeded']);
  });

  it('reports a failure of its store, and continues on a request', async () => {
    let broken = true;
    const flaky: RecordStore = {
      ...unboundStore(records),
      replace: (name, value, version) =>
        broken ? Promise.reject(new Error('disk on fire')) : records.replace(name, value, version),
    };
    const work = open({ records: flaky });
    const id = await work.begin('delete', await all());
    await work.idle();
    expect(fixture.failures).toEqual([expect.stringContaining(id)]);
    broken = false;
    now += 31_000;
    await work.get(id);
    await work.idle();
    expect([(await work.get(id)).status, await names()]).toEqual(['succeeded', []]);
  });

  it('continues on its own when its store or the workload status becomes available', async () => {
    const workloads = fixture.services().workloads;
    let failures = 3;
    const unlessAway = <T>(answer: () => Promise<T>): Promise<T> =>
      failures-- > 0 ? Promise.reject(new Problem('unavailable', 'it is away')) : answer();
    const flaky: RecordStore = {
      ...unboundStore(records),
      get: (name) => unlessAway(() => records.get(name)),
    };
    const look = workloads.look.bind(workloads);
    const looks = Object.assign(fixture.services().workloads, { look: () => unlessAway(look) });
    const rests: number[] = [];
    const pause = (milliseconds: number) => Promise.resolve(void rests.push(milliseconds));
    const ids = [];
    for (const [more, times] of [[{ records: flaky }, 7] as const, [{ workloads: looks }, 3] as const]) {
      failures = times;
      const work = open({ ...more, pause });
      ids.push(await work.begin('restart', await all()));
      await work.idle();
    }
    for (const id of ids) expect((await open().get(id)).status).toBe('succeeded');
    const longer = [16_000, 32_000, 60_000, 60_000];
    expect(rests.filter((rest) => rest > 1000)).toEqual([2000, 4000, 8000, ...longer, 2000, 4000, 8000]);
    expect(fixture.failures[2]).toContain(`operation ${ids[0] ?? ''} goes on in 8 seconds: it is away`);
  });

  it('ends a pending wait with its process', async () => {
    const away: RecordStore = {
      ...unboundStore(records),
      get: () => Promise.reject(new Problem('unavailable', 'it is away')),
    };
    const work = open({ records: away });
    await work.begin('delete', await all());
    await work.close();
    expect(await names()).toEqual(['a', 'b']);
  });

  it('forgets work a day after its end', async () => {
    const work = open();
    const id = await work.begin('delete', []);
    now += 23 * 3600 * 1000;
    await work.begin('delete', []);
    expect((await work.get(id)).status).toBe('succeeded');
    now += 3600 * 1000;
    await work.begin('delete', []);
    await expect(work.get(id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('keeps work for a day after its end, however long it took', async () => {
    const work = open();
    const id = await work.begin('delete', []);
    const { value, version } = (await records.get(id))!;
    now += 24 * 3600 * 1000;
    await records.replace(id, { ...(value as object), finished_at: new Date(now).toISOString() }, version);
    now += 3600 * 1000;
    await work.begin('delete', []);
    expect((await work.get(id)).status).toBe('succeeded');
  });

  it('continues when another process has also recorded its steps', async () => {
    let others = 0;
    const shared: RecordStore = {
      ...unboundStore(records),
      async replace(name, value, version) {
        if ((others += 1) === 1) await records.replace(name, value, version);
        return records.replace(name, value, version);
      },
    };
    const work = open({ records: shared });
    const id = await work.begin('delete', await all());
    await work.idle();
    expect([(await work.get(id)).status, await names(), fixture.failures]).toEqual(['succeeded', [], []]);
  });

  it('limits concurrent work to twenty, and accepts more when one ends', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<undefined>();
    const held: RecordStore = {
      ...unboundStore(records),
      async get(name) {
        await goOn;
        return records.get(name);
      },
    };
    const work = open({ records: held });
    const found = await all();
    const begun = await Promise.allSettled(Array.from({ length: 30 }, () => work.begin('restart', found)));
    const refused = begun.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect([begun.length - refused.length, refused.length]).toEqual([20, 10]);
    expect(refused[0]).toMatchObject({ code: 'too_many_requests', headers: { 'Retry-After': '10' } });
    resolve(undefined);
    await work.idle();
    const last = await work.begin('restart', found);
    await work.idle();
    expect((await work.get(last)).status).toBe('succeeded');
  });

  it('resumes work twenty at a time until all of it has ended', async () => {
    await leftMany();
    const { held, begun, goOn } = heldStore();
    const next = open({ records: held });
    await next.resume();
    while (begun.size < 20) await sleep(5);
    await next.resume();
    expect(begun.size).toBe(20);
    goOn();
    await next.idle();
    expect((await records.list()).map((one) => (one.value as { status: string }).status)).toEqual(
      Array.from({ length: 25 }, () => 'succeeded'),
    );
  });

  it('leaves queued work to the next process when this process ends', async () => {
    await leftMany();
    const { held, begun, goOn } = heldStore();
    const ending = open({ records: held });
    await ending.resume();
    while (begun.size < 20) await sleep(5);
    const closed = ending.close();
    goOn();
    await closed;
    expect(begun.size).toBe(20);
  });

  it('reads only work that can be forgotten when it begins', async () => {
    const reads: string[] = [];
    const watched: RecordStore = {
      ...unboundStore(records),
      list: () => Promise.reject(new Error('all of it is read')),
      get(name) {
        reads.push(name);
        return records.get(name);
      },
    };
    const work = open({ records: watched });
    const old = await work.begin('delete', []);
    now += 23 * 3600 * 1000;
    const young = await work.begin('delete', []);
    await work.idle();
    now += 3600 * 1000;
    reads.length = 0;
    const last = await work.begin('delete', []);
    await work.idle();
    expect(reads).toEqual([old, last]);
    expect(await records.names()).toEqual([young, last].sort());
  });

  it('continues work of a newer vmcp, and keeps its unknown fields', async () => {
    const id = await left('delete');
    const record = await records.get(id);
    const { workloads, ...value } = record?.value as { workloads: object[] };
    const newer = { ...value, workloads: workloads.map((one) => ({ ...one, looked_at: 1 })), priority: 'low' };
    await records.replace(id, newer, record?.version ?? '');
    const next = open();
    await next.resume();
    await next.idle();
    expect((await next.get(id)).status).toBe('succeeded');
    expect((await records.get(id))?.value).toMatchObject({ priority: 'low', workloads: [{ looked_at: 1 }, {}] });
  });
});
