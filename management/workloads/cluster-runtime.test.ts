import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { clusterRuntime } from './cluster-runtime.ts';
import { ListSemaphore } from '../stores/list-semaphore.ts';
import { PodLogs } from './pod-logs.ts';

/** Maps each pod to its log, or to the status of the rejection. */
const LOGS = new Map<string, string | number>();

class PodServer extends ObjectServer {
  /** Selectors of the requests for pods; the server returns only matching pods. */
  readonly selectors: unknown[] = [];

  protected override serve(request: IncomingMessage, response: ServerResponse, text: string): void {
    const [, pod] = /pods\/([^/?]+)\/log/.exec(request.url ?? '') ?? [];
    if (pod === undefined) {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://server');
      this.selectors.push(searchParams.get('labelSelector'));
      searchParams.delete('labelSelector');
      request.url = `${pathname}?${searchParams.toString()}`;
      super.serve(request, response, text);
      return;
    }
    const log = LOGS.get(pod) ?? 404;
    response.writeHead(typeof log === 'number' ? log : 200).end(typeof log === 'number' ? '{}' : log);
  }

  /** Adds a pod that is found by its labels. */
  addPod(name: string, labels: object, status: object): void {
    const spec = { containers: [{ name: 'mcp' }] };
    this.put(`/api/v1/namespaces/team/pods/${name}`, { metadata: { name, namespace: 'team', labels }, spec, status });
  }
}

const RUNS = { containerStatuses: [{ name: 'mcp', restartCount: 0, state: { running: {} } }] };
const WAITS = { containerStatuses: [{ name: 'mcp', restartCount: 0, state: { waiting: {} } }] };
const PROGRAM = { 'app.kubernetes.io/name': 'mcp-backend' };
const ENDPOINT = { 'app.kubernetes.io/name': 'vmcp-proxy' };

let server: PodServer;
beforeEach(async () => {
  LOGS.clear();
  server = await new PodServer().start();
});
afterEach(() => server.close());

async function logs(lists = new ListSemaphore()): Promise<string[]> {
  const api = server.api();
  const place = { api, apiGroup: 'vmcp.dev', podLogs: new PodLogs(api), lists, namespace: 'team' };
  const runtime = clusterRuntime(place);
  const { signal } = new AbortController();
  const lines = await runtime.logs('search', { lines: 10, follow: false, who: 'ann', signal });
  const told: string[] = [];
  for await (const line of lines) told.push(line);
  return told.sort();
}

it('returns the log of the program, else of the endpoint, without a pod name for a single pod', async () => {
  server.addPod('endpoint', ENDPOINT, RUNS);
  LOGS.set('endpoint', 'of the endpoint\n').set('one', 'of the program\n');
  expect(await logs()).toEqual(['of the endpoint\n']);
  server.addPod('one', PROGRAM, RUNS);
  expect(await logs()).toEqual(['of the program\n']);
  expect(new Set(server.selectors)).toEqual(
    new Set(['app.kubernetes.io/name in (mcp-backend,vmcp-proxy),app.kubernetes.io/instance=search']),
  );
});

it('returns no log for a pod that has not started, and no further lines of a deleted one', async () => {
  server.addPod('waiting', PROGRAM, WAITS);
  await expect(logs()).rejects.toMatchObject({ code: 'not_found' });
  for (const name of ['one', 'gone', 'ended']) server.addPod(name, PROGRAM, RUNS);
  LOGS.set('one', 'a\nb\n').set('ended', 400);
  expect(await logs()).toEqual(['one | a\n', 'one | b\n']);
});

it('distinguishes a rejected log from an empty one', async () => {
  server.addPod('one', PROGRAM, RUNS);
  LOGS.set('one', 403);
  await expect(logs()).rejects.toMatchObject({ code: 'forbidden' });
});

it('reads twenty of many pods', async () => {
  for (let n = 0; n < 25; n += 1) {
    server.addPod(`p${n}`, PROGRAM, RUNS);
    LOGS.set(`p${n}`, 'line\n');
  }
  expect(await logs()).toHaveLength(20);
});

it('prefers the logs of running pods, and limits those of ended pods', async () => {
  for (let n = 0; n < 1200; n += 1) {
    server.addPod(`ended-${n}`, PROGRAM, { ...RUNS, phase: n % 2 === 0 ? 'Failed' : 'Succeeded' });
    LOGS.set(`ended-${n}`, 'old\n');
  }
  server.addPod('runs', PROGRAM, { ...RUNS, phase: 'Running' });
  LOGS.set('runs', 'new\n');
  const told = await logs();
  expect(told).toHaveLength(20);
  expect(told).toContain('runs | new\n');
});

it('reports that there are more pods than it reads', async () => {
  const labels = { ...PROGRAM, long: 'x'.repeat(7_000_000) };
  for (let n = 0; n < 5; n += 1) server.addPod(`p${n}`, labels, RUNS);
  const message = expect.stringContaining('longer than 33554432 bytes together');
  await expect(logs()).rejects.toMatchObject({ code: 'unavailable', message });
});

it('limits the lists of pods at once, because a tenant can make them long', async () => {
  server.addPod('one', PROGRAM, RUNS);
  LOGS.set('one', 'line\n');
  const lists = new ListSemaphore({ atOnce: 1, queue: 1 });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const other = lists.run('other', 'the skills', () => promise);
  const waiting = logs(lists);
  await new Promise(setImmediate);
  await expect(logs(lists)).rejects.toMatchObject({ code: 'unavailable' });
  expect(server.selectors).toEqual([]);
  resolve(undefined);
  await other;
  expect(await waiting).toEqual(['line\n']);
});
