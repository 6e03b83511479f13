import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Clock } from '#operator/queue';
import type { KubeObject } from '../api/object.ts';
import { tooLong } from '../api/read-page.ts';
import { createReflector, type Reflector, type ReflectorOptions, type RestartReason } from './reflector.ts';
import { eventually } from '../testdata/eventually.ts';
import { statusBody } from '../testdata/fake-api-server.ts';
import { WatchServer } from '../testdata/watch-server.ts';

const TOO_MUCH = 'more values than are read';
const THINGS = { group: 'vmcp.dev', version: 'v1alpha1', plural: 'things', namespaced: true };

/** Returns a clock whose delays end at once and are recorded. */
function noteDelays(): Clock & { delays: number[] } {
  const delays: number[] = [];
  return {
    delays,
    now: () => Date.now(),
    after(milliseconds, then) {
      delays.push(milliseconds);
      const timer = setImmediate(then);
      return () => {
        clearImmediate(timer);
      };
    },
  };
}

describe('createReflector', () => {
  let server: WatchServer;
  let clock: ReturnType<typeof noteDelays>;
  let reflector: Reflector | undefined;
  let restarts: RestartReason[];
  let logged: { message: string; fields: Record<string, unknown> | undefined }[];
  /** Changes as `+name`, `~name`, `-name`. */
  let changes: string[];

  beforeEach(async () => {
    server = await new WatchServer().start();
    clock = noteDelays();
    [restarts, logged, changes] = [[], [], []];
  });
  afterEach(async () => {
    await reflector?.close();
    await server.close();
  });

  function started(options: Partial<ReflectorOptions> = {}): Reflector {
    const note = (message: string, fields?: Record<string, unknown>) => logged.push({ message, fields });
    reflector = createReflector({
      api: server.api(),
      resource: THINGS,
      clock,
      random: () => 0.5,
      log: { debug: note, info: note, warn: note, error: note },
      onRestart: (_resource, why) => restarts.push(why),
      ...options,
    });
    reflector.onChange((old, current) => {
      const sign = old && current ? '~' : current ? '+' : '-';
      changes.push(sign + (current ?? old)!.metadata.name);
    });
    reflector.start();
    return reflector;
  }

  async function watching(options: Partial<ReflectorOptions> = {}): Promise<Reflector> {
    const begun = started(options);
    await begun.synced();
    const { length } = options.namespaces ?? [''];
    await eventually(() => server.openWatches === length, 'the watch is open');
    return begun;
  }

  it('stores the existing objects when it is synced, and then follows changes', async () => {
    server.put('a');
    server.put('b');
    const { store } = await watching();
    expect(changes).toEqual(['+a', '+b']);
    server.put('c');
    server.put('a', { spec: 2 });
    server.remove('b');
    await eventually(() => changes.length === 5, 'three changes');
    expect(changes.slice(2)).toEqual(['+c', '~a', '-b']);
    expect([...store.keys()]).toEqual(['ns/a', 'ns/c']);
    expect(store.get('ns/a')?.spec).toBe(2);
  });

  it("indexes each namespace by name, also for names of Object.prototype's properties", async () => {
    server.put('constructor', {}, 'one');
    server.put('a', {}, 'two');
    const begun = await watching();
    const inNamespace = (name: string) => begun.inNamespace(name);
    expect(Object.keys(inNamespace('one'))).toEqual(['constructor']);
    expect('constructor' in inNamespace('two')).toBe(false);
    server.remove('a', 'two');
    await eventually(() => changes.includes('-a'), 'it has gone');
    expect(Object.keys(inNamespace('two'))).toEqual([]);
    expect(Object.keys(inNamespace('three'))).toEqual([]);
  });

  it('lists in pages', async () => {
    for (let i = 0; i < 1203; i += 1) server.put(`thing-${i}`);
    const { store } = await watching();
    expect(store.size).toBe(1203);
    expect(server.count('list')).toBe(3);
  });

  it('lists everything at once if the API server no longer knows the continuation', async () => {
    for (let i = 0; i < 600; i += 1) server.put(`thing-${i}`);
    const expired = { status: 410, body: statusBody(410, 'Expired', 'continue token too old') };
    const api = server.api();
    const list = api.list.bind(api);
    // The second page has expired, not the first.
    api.list = (resource, selection, paging) => {
      if (paging?.next !== undefined) server.nextLists.push(expired);
      return list(resource, selection, paging);
    };
    const { store } = await watching({ api });
    expect(store.size).toBe(600);
    expect(server.requests.filter(({ query }) => !query.has('watch') && !query.has('limit'))).toHaveLength(1);
  });

  it('starts over with pages if the continuation has expired and the whole list is too long', async () => {
    for (let i = 0; i < 600; i += 1) server.put(`thing-${i}`);
    const expired = { status: 410, body: statusBody(410, 'Expired', 'continue token too old') };
    const api = server.api();
    const list = api.list.bind(api);
    let wholes = 0;
    api.list = (resource, selection, paging) => {
      if (paging?.limit === undefined) {
        wholes += 1;
        return Promise.reject(tooLong('list things', 64 * 1024 * 1024));
      }
      if (paging.next !== undefined && wholes < 2) server.nextLists.push(expired);
      return list(resource, selection, paging);
    };
    const { store } = await watching({ api });
    expect([store.size, wholes, clock.delays]).toEqual([600, 2, [800, 1600]]);
    expect(logged.map(({ fields }) => fields?.problem)).toContain(
      'list things: what is there takes more than 67108864 bytes',
    );
  });

  it('shrinks pages of long objects to 8 MiB at most, and grows them again', async () => {
    const sizes = () =>
      server.requests.flatMap(({ query }) => (query.has('limit') ? [Number(query.get('limit'))] : []));
    for (let i = 0; i < 90; i += 1) server.put(`long-${i}`, { spec: 'x'.repeat(200_000) });
    for (let i = 0; i < 500; i += 1) server.put(`short-${i}`);
    const { store } = await watching();
    expect(store.size).toBe(590);
    expect(sizes()).toEqual([500, 125, 31, 31, 31, 31, 62, 124, 248, 496]);
  });

  it('shrinks pages of objects with many values, which take more memory than their text, and keeps few of the values', async () => {
    const spec = { junk: Array.from({ length: 60_000 }, () => ({})) };
    for (let i = 0; i < 9; i += 1) server.put(`full-${i}`, { spec });
    const { store } = await watching();
    expect([...store.values()].map((object) => object.spec)).toEqual(new Array(9).fill({ junk: TOO_MUCH }));
    const sizes = server.requests.map(({ query }) => Number(query.get('limit')));
    expect(sizes.slice(0, 6)).toEqual([500, 125, 31, 7, 1, 1]);
  });

  it('lists objects that are each longer than a page', async () => {
    for (let i = 0; i < 3; i += 1) server.put(`long-${i}`, { spec: 'x'.repeat(9_000_000) });
    expect((await watching()).store.size).toBe(3);
  });

  it('resumes from the last version when a watch ends, without listing again', async () => {
    server.put('a');
    await watching();
    server.put('b');
    await eventually(() => changes.length === 2, 'b has come');
    server.endWatches();
    server.put('c');
    await eventually(() => changes.length === 3, 'c has come');
    expect(server.count('list')).toBe(1);
    expect(restarts).toEqual(['end']);
    expect(clock.delays).toEqual([]);
  });

  it('resumes from the version of a bookmark', async () => {
    await watching();
    server.sendBookmark();
    server.sendBookmark();
    await new Promise((resolve) => setTimeout(resolve, 20));
    server.endWatches();
    await eventually(() => server.count('watch') === 2, 'the second watch');
    const [first, second] = server.requests.filter(({ query }) => query.has('watch'));
    expect(Number(second?.query.get('resourceVersion'))).toBe(Number(first?.query.get('resourceVersion')) + 2);
    expect(first?.query.get('allowWatchBookmarks')).toBe('true');
    expect(changes).toEqual([]);
  });

  it('resumes from the last version after a broken connection, with a delay', async () => {
    await watching();
    server.put('a');
    await eventually(() => changes.length === 1, 'a has come');
    server.cutWatches();
    server.put('b');
    await eventually(() => changes.length === 2, 'b has come');
    expect(server.count('list')).toBe(1);
    expect(restarts).toEqual(['error']);
    expect(clock.delays).toEqual([800]);
  });

  it('restarts a silent watch like an ended one', async () => {
    await watching({ silence: 1000 });
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await eventually(() => server.count('watch') === 2, 'the second watch');
    expect([server.count('list'), restarts, clock.delays]).toEqual([1, ['end'], []]);
  });

  it('lists again when its version has expired, and reports additions, changes and deletions since then', async () => {
    for (const name of ['stays', 'changes', 'goes']) server.put(name);
    await watching();
    server.cutWatches();
    server.nextWatches.push({ status: 410, body: statusBody(410, 'Expired', 'too old') });
    server.put('changes', { spec: 1 });
    server.remove('goes');
    server.put('comes');
    await eventually(() => server.count('list') === 2 && server.openWatches === 1, 'it watches again');
    expect(changes.slice(3).sort()).toEqual(['+comes', '-goes', '~changes']);
    expect(restarts).toEqual(['error', 'expired']);
  });

  it('lists again at once when an open watch reports an expired version', async () => {
    await watching();
    server.put('a');
    await eventually(() => changes.length === 1, 'a has come');
    server.endWatches();
    server.forgetHistory();
    await eventually(() => server.count('list') === 2 && server.openWatches === 1, 'it watches again');
    expect(restarts).toContain('expired');
    expect(changes).toEqual(['+a']);
    expect(clock.delays).toEqual([0]);
  });

  it('does not list continuously if every version expires at once', async () => {
    const expired = { status: 410, body: statusBody(410, 'Expired', 'too old') };
    server.nextWatches.push(expired, expired, expired, expired);
    await watching();
    expect(clock.delays).toEqual([0, 800, 1600, 3200]);
  });

  it.each([
    [7, 7000],
    [3600, 30_000],
  ])('waits as long as a busy API server requires before it lists, up to half a minute: %d s', async (asked, delay) => {
    const message = 'storage is (re)initializing';
    const busy = statusBody(429, 'TooManyRequests', message, { retryAfterSeconds: asked });
    server.nextLists.push({ status: 429, headers: { 'retry-after': `${asked}` }, body: busy });
    server.put('a');
    await watching();
    expect(changes).toEqual(['+a']);
    expect(clock.delays).toEqual([delay]);
  });

  it.each([
    [4, 1],
    [5, 2],
  ])('discards its version after more than five failures in a row: one and %d', async (failures, lists) => {
    const down = { status: 503, body: statusBody(503, 'ServiceUnavailable') };
    await watching();
    for (let i = 0; i < failures; i += 1) server.nextWatches.push(down);
    server.cutWatches();
    await eventually(() => server.nextWatches.length === 0 && server.openWatches === 1, 'it watches again');
    expect(server.count('list')).toBe(lists);
  });

  it.each([
    [0, '300'],
    [1, '600'],
  ])(
    'ends watches after five to ten minutes (random number %d), and earlier without bookmarks',
    async (chance, seconds) => {
      const api = server.api();
      const watch = api.watch.bind(api);
      const silences: unknown[] = [];
      api.watch = (resource, selection, watching) => {
        silences.push(watching.silence);
        return watch(resource, selection, watching);
      };
      await watching({ api, random: () => chance });
      expect(server.requests.at(-1)?.query.get('timeoutSeconds')).toBe(seconds);
      // The API server sends one bookmark a minute.
      expect(silences).toEqual([75_000]);
    },
  );

  it('accepts an object whose version belonged to another object, as after a restored backup', async () => {
    server.put('a');
    const { store } = await watching();
    const { resourceVersion } = store.get('ns/a')!.metadata;
    server.put('a', { metadata: { name: 'a', namespace: 'ns', uid: 'another', resourceVersion } });
    await eventually(() => changes.length === 2, 'it is another one');
    expect(store.get('ns/a')?.metadata.uid).toBe('another');
  });

  it('doubles the delay with each attempt, with jitter and a limit', async () => {
    const down = { status: 503, body: statusBody(503, 'ServiceUnavailable') };
    for (let i = 0; i < 8; i += 1) server.nextLists.push(down);
    await watching({ random: () => 0 });
    expect(clock.delays).toEqual([400, 800, 1600, 2000, 2000, 2000, 2000, 2000]);
  });

  it('doubles the delay further after refusals, and resets it when a returning API server refuses first', async () => {
    const down = { status: 503, body: statusBody(503, 'ServiceUnavailable') };
    const refused = { status: 403, body: statusBody(403, 'Forbidden') };
    const refusals = Array.from({ length: 8 }, () => refused);
    server.nextLists.push(down, down, down, down, ...refusals, down);
    await watching({ random: () => 0 });
    const longer = [400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000];
    expect(clock.delays).toEqual([400, 800, 1600, 2000, ...longer, 400]);
  });

  it.each([
    ['lasted', (): number => 60_000],
    ['told of something', () => (server.put('a'), 0)],
  ])('starts with the shortest delay again after a watch that %s', async (_what, happen) => {
    let time = 0;
    const down = { status: 503, body: statusBody(503, 'ServiceUnavailable') };
    server.nextLists.push(down, down, down);
    const { store } = await watching({ clock: { ...clock, now: () => time } });
    time = happen();
    await eventually(() => time > 0 || store.size > 0, 'it has happened');
    server.cutWatches();
    await eventually(() => server.count('watch') === 2, 'the second watch');
    expect(clock.delays).toEqual([800, 1600, 3200, 800]);
  });

  it('lists again after an unreadable line, as a change may be lost', async () => {
    await watching();
    server.sendLine('{"type":"ADDED","object":{"metadata":{"na');
    await eventually(() => server.count('list') === 2 && server.openWatches === 1, 'it watches again');
    for (const line of ['[]', '{"type":"NEW","object":{"metadata":{"resourceVersion":"1"}}}', '{"type":"ADDED"}']) {
      const lists = server.count('list');
      server.sendLine(line);
      await eventually(() => server.count('list') === lists + 1 && server.openWatches === 1, `after ${line}`);
    }
    expect(restarts).toEqual(['error', 'error', 'error', 'error']);
  });

  it('logs the remedy when it may not read', async () => {
    server.nextLists.push({ status: 403, body: statusBody(403, 'Forbidden', 'things is forbidden') });
    await watching();
    expect(logged.map(({ message }) => message)).toEqual([
      'the operator may not read it: install the roles of the chart, or limit it by --watch-namespace',
    ]);
  });

  it('backs off from an API server that ends each watch at once', async () => {
    const ended = { status: 200, body: '' };
    server.nextWatches.push(ended, ended, ended);
    await watching();
    await eventually(() => server.count('watch') === 4, 'the fourth watch');
    expect(clock.delays).toEqual([800, 1600, 3200]);
    expect(server.count('list')).toBe(1);
  });

  it('watches each namespace of a list, and is synced when all are', async () => {
    server.put('a', {}, 'one');
    server.put('b', {}, 'two');
    server.put('c', {}, 'three');
    const { store } = await watching({ namespaces: ['one', 'two'] });
    expect([...store.keys()].sort()).toEqual(['one/a', 'two/b']);
    server.put('d', {}, 'two');
    await eventually(() => changes.includes('+d'), 'd has come');
    expect(server.requests.map(({ path }) => path)).not.toContain('/apis/vmcp.dev/v1alpha1/things');
  });

  it('requests metadata only if it is limited to metadata, and passes selectors on', async () => {
    await watching({ metadataOnly: true, labelSelector: 'a=b', fieldSelector: 'type!=helm.sh/release.v1' });
    const [list, watch] = server.requests;
    expect(list?.headers.accept).toBe('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
    expect(watch?.headers.accept).toBe('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
    for (const request of [list, watch]) {
      expect(request?.query.get('labelSelector')).toBe('a=b');
      expect(request?.query.get('fieldSelector')).toBe('type!=helm.sh/release.v1');
    }
  });

  it("drops managed fields and kubectl's copy by default", async () => {
    const metadata = {
      ...{ name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '7', managedFields: [{ manager: 'kubectl' }] },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', mine: 'yes' },
    };
    const object: KubeObject = { apiVersion: 'v1', kind: 'Thing', metadata, spec: 1 };
    server.nextLists.push({
      status: 200,
      body: { kind: 'ThingList', apiVersion: 'vmcp.dev/v1alpha1', metadata: { resourceVersion: '7' }, items: [object] },
    });
    const { store } = await watching();
    const kept = store.get('ns/a');
    expect(kept?.metadata.managedFields).toBeUndefined();
    expect(kept?.metadata.annotations).toEqual({ mine: 'yes' });
    expect(kept?.spec).toBe(1);
  });

  it('continues after a listener throws', async () => {
    const begun = await watching();
    begun.onChange(() => {
      throw new Error('broken');
    });
    server.put('a');
    server.put('b');
    await eventually(() => changes.length === 2, 'both have come');
    expect(logged.filter(({ message }) => message === 'a listener failed')).toHaveLength(2);
  });

  it('ends at once when closed, even during a delay', async () => {
    server.nextLists.push({
      status: 503,
      headers: { 'retry-after': '20' },
      body: statusBody(503, 'ServiceUnavailable'),
    });
    const begun = started({ clock: { now: () => 0, after: () => () => undefined } });
    const waiting = expect(begun.synced()).rejects.toThrow('given up');
    await eventually(() => server.count('list') === 1 && logged.length === 1, 'it waits');
    await begun.close();
    await waiting;
    expect(begun.hasSynced).toBe(false);
    expect(server.count('list')).toBe(1);
  });
});
