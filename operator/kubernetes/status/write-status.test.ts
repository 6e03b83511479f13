import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Status } from '#crds/kinds/status';
import type { Manifest } from '#operator/world';
import type { KubeApi } from '../api/api.ts';
import { eventually } from '../testdata/eventually.ts';
import { ManualClock } from '#operator/testdata/manual-clock';
import { ObjectServer } from '../testdata/object-server.ts';
import { statusBody } from '../testdata/fake-api-server.ts';
import { StatusWriter } from './write-status.ts';

const PATH = '/apis/vmcp.dev/v1alpha1/namespaces/ns/mcpgroups/tools';
const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const status = (serverCount: number, ready = 'Valid'): Status => ({
  phase: 'Ready',
  serverCount,
  conditions: [
    { type: 'Ready', status: 'True', reason: ready, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ],
});

let server: ObjectServer;
let api: KubeApi;
let clock: ManualClock;
let writer: StatusWriter;
let manifest: Manifest;
let failures: unknown[];
beforeEach(async () => {
  server = await new ObjectServer().start();
  api = server.api();
  clock = new ManualClock();
  clock.pass(1_000_000);
  failures = [];
  manifest = server.put(PATH, {
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'MCPGroup',
    metadata: { name: 'tools', namespace: 'ns' },
  }) as Manifest;
  writer = new StatusWriter({
    api,
    apiGroup: 'vmcp.dev',
    clock,
    log,
    instance: 'test',
    wrote: (object) => (manifest = object as Manifest),
    failed: (_manifest, problem) => failures.push(problem),
  });
});
afterEach(async () => {
  writer.close();
  await server.close();
});

const written = () => server.writes().filter((line) => line === `PATCH ${PATH}/status`).length;
const events = () => server.calls.filter(({ path }) => path.endsWith('/events')).map(({ body }) => body);

describe('statuses', () => {
  it('are not written to another one that took its place', async () => {
    const former = manifest;
    server.remove(PATH);
    server.put(PATH, {
      apiVersion: 'vmcp.dev/v1alpha1',
      kind: 'MCPGroup',
      metadata: { name: 'tools', namespace: 'ns' },
    });
    await expect(writer.write(former, status(1))).rejects.toMatchObject({ status: 422 });
    expect(server.at(PATH)?.status).toBeUndefined();
    expect(events()).toEqual([]);
  });

  it('of another one that took its place are written at once, and nothing more of the former', async () => {
    await writer.write(manifest, status(1));
    await writer.write(manifest, status(2));
    server.remove(PATH);
    const { apiVersion, kind, metadata } = manifest;
    const next = server.put(PATH, { apiVersion, kind, metadata: { ...metadata, uid: 'next' } }) as Manifest;
    await writer.write(next, status(3));
    expect(written()).toBe(2);
    clock.pass(1000);
    expect((server.at(PATH) as Manifest).status).toEqual(status(3));
    expect(clock.timers).toBe(0);
  });

  it('are written when they differ, and not again', async () => {
    await writer.write(manifest, status(1));
    await writer.write(manifest, status(1));
    expect(written()).toBe(1);
    expect((server.at(PATH) as Manifest).status).toEqual(status(1));
  });

  it('are written at most once a second each, and the last one is not lost', async () => {
    for (let n = 1; n <= 20; n++) await writer.write(manifest, status(n));
    expect(written()).toBe(1);
    clock.pass(1000);
    await eventually(() => written() === 2, 'the second write');
    expect((server.at(PATH) as Manifest).status).toEqual(status(20));
  });

  it('one that is as before after all is not written', async () => {
    await writer.write(manifest, status(1));
    await writer.write(manifest, status(2));
    await writer.write(manifest, status(1));
    clock.pass(5000);
    expect(written()).toBe(1);
  });

  it('what the API server keeps otherwise than it was written is left alone', async () => {
    server.nextAnswers.push({ status: 200, body: { ...manifest, status: { phase: 'Ready' } } });
    await writer.write(manifest, status(1));
    clock.pass(5000);
    await writer.write(manifest, status(1));
    expect(written()).toBe(1);
  });

  it('transitions are told as Events, once each', async () => {
    await writer.write(manifest, status(1));
    clock.pass(1000);
    await writer.write(manifest, status(2));
    clock.pass(1000);
    await writer.write(manifest, status(2, 'Other'));
    expect(events()).toMatchObject([
      { kind: 'Event', reason: 'Valid', type: 'Normal', involvedObject: { kind: 'MCPGroup', name: 'tools' } },
      { reason: 'Other' },
    ]);
  });

  it('say in an Event as much as one may hold', async () => {
    const { conditions, ...rest } = status(1);
    await writer.write(manifest, {
      ...rest,
      conditions: conditions.map((one) => ({ ...one, message: '€'.repeat(2000) })),
    });
    expect(events()).toMatchObject([{ message: `${'€'.repeat(999)}…` }]);
  });

  it('that the API server refuses are told as Events, once, and tried again', async () => {
    for (const reason of ['Valid', 'Valid', 'Valid', 'Other']) {
      server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid') });
      await expect(writer.write(manifest, status(1, reason))).rejects.toMatchObject({ status: 422 });
      clock.pass(1000);
    }
    expect(events()).toMatchObject([{ reason: 'Valid' }, { reason: 'Other' }]);
  });

  it('what may pass by itself is told when it has lasted, as it is then', async () => {
    const waiting = (message: string): Status => ({
      phase: 'Pending',
      conditions: ['Ready', 'Waiting'].map((type) => ({
        type,
        status: type === 'Ready' ? 'False' : 'True',
        reason: 'GroupNotFound',
        message,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    });
    await writer.write(manifest, waiting('one'));
    clock.pass(9000);
    await writer.write(manifest, status(1));
    clock.pass(9000);
    expect(events()).toMatchObject([{ reason: 'Valid', type: 'Normal' }]);
    await writer.write(manifest, waiting('one'));
    clock.pass(5000);
    await writer.write(manifest, waiting('two'));
    expect(events()).toHaveLength(1);
    clock.pass(5000);
    await eventually(() => events().length === 2, 'the Event');
    expect(events()[1]).toMatchObject({ reason: 'GroupNotFound', type: 'Warning', message: 'two' });
    await writer.write(manifest, status(1));
    await writer.write(manifest, waiting('three'));
    clock.pass(1000);
    await eventually(() => written() === 5, 'the last write');
    writer.forget({ kind: 'MCPGroup', namespace: 'ns', name: 'tools' });
    expect(clock.timers).toBe(0);
  });

  it('a condition that flaps does not fill the cluster with Events', async () => {
    for (let n = 0; n < 60; n++) {
      await writer.write(manifest, status(1, `Reason${n}`));
      clock.pass(1000);
    }
    expect(written()).toBe(60);
    expect(events().length).toBeLessThan(30);
    // It is not silent for ever.
    const told = events().length;
    clock.pass(60 * 60_000);
    await writer.write(manifest, status(1, 'Another'));
    expect(events()).toHaveLength(told + 1);
  });

  it('of one that has gone is no failure; a write that had to wait and failed is tried again', async () => {
    for (const code of [404, 409]) {
      server.nextAnswers.push({ status: code, body: statusBody(code, 'Gone') });
      clock.pass(1000);
      await writer.write(manifest, status(1));
    }
    await writer.write(manifest, status(2));
    server.nextAnswers.push({ status: 500, body: statusBody(500, 'InternalError') });
    clock.pass(1000);
    await eventually(() => failures.length === 1, 'the failure');
  });
});
