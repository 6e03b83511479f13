import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Status } from '#crds/kinds/status';
import type { Manifest } from '#operator/snapshot';
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

describe('StatusWriter', () => {
  it('does not write to a resource that replaced another of the same name', async () => {
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

  it('writes at once to a replacement, and nothing more to its predecessor', async () => {
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

  it('writes a status that differs, and not a second time', async () => {
    await writer.write(manifest, status(1));
    await writer.write(manifest, status(1));
    expect(written()).toBe(1);
    expect((server.at(PATH) as Manifest).status).toEqual(status(1));
  });

  it('writes once a second at most per resource, and does not lose the last status', async () => {
    for (let n = 1; n <= 20; n++) await writer.write(manifest, status(n));
    expect(written()).toBe(1);
    clock.pass(1000);
    await eventually(() => written() === 2, 'the second write');
    expect((server.at(PATH) as Manifest).status).toEqual(status(20));
  });

  it('does not write a status that has returned to its previous value', async () => {
    await writer.write(manifest, status(1));
    await writer.write(manifest, status(2));
    await writer.write(manifest, status(1));
    clock.pass(5000);
    expect(written()).toBe(1);
  });

  it('does not rewrite a status that the API server stores differently', async () => {
    server.nextAnswers.push({ status: 200, body: { ...manifest, status: { phase: 'Ready' } } });
    await writer.write(manifest, status(1));
    clock.pass(5000);
    await writer.write(manifest, status(1));
    expect(written()).toBe(1);
  });

  it('reports each transition once, as an Event', async () => {
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

  it('fits the message of an Event to its limit', async () => {
    const { conditions, ...rest } = status(1);
    await writer.write(manifest, {
      ...rest,
      conditions: conditions.map((one) => ({ ...one, message: '€'.repeat(2000) })),
    });
    expect(events()).toMatchObject([{ message: `${'€'.repeat(999)}…` }]);
  });

  it('reports a refused status once as an Event, and retries the write', async () => {
    for (const reason of ['Valid', 'Valid', 'Valid', 'Other']) {
      server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid') });
      await expect(writer.write(manifest, status(1, reason))).rejects.toMatchObject({ status: 422 });
      clock.pass(1000);
    }
    expect(events()).toMatchObject([{ reason: 'Valid' }, { reason: 'Other' }]);
  });

  it('reports a condition that may resolve by itself after it has lasted, in its current state', async () => {
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

  it('limits the Events of a flapping condition', async () => {
    for (let n = 0; n < 60; n++) {
      await writer.write(manifest, status(1, `Reason${n}`));
      clock.pass(1000);
    }
    expect(written()).toBe(60);
    expect(events().length).toBeLessThan(30);
    // Later Events are still reported.
    const told = events().length;
    clock.pass(60 * 60_000);
    await writer.write(manifest, status(1, 'Another'));
    expect(events()).toHaveLength(told + 1);
  });

  it('ignores a deleted resource, and retries a delayed write that failed', async () => {
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
