import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server, whoami } from '../local/manifests.ts';
import { eventually } from '../local/run-vmcp.ts';
import { OperationAccepted, WorkloadOperation } from '#management/records/workload-operation';
import { WorkloadReport } from '#management/records/workload';
import { type RunningApi, useApi } from './use-api.ts';

const COMMENT = '# Kept by hand, and not to be lost.\n';
let api: RunningApi;
let port: number;

beforeAll(async () => {
  port = await findFreePort();
  api = await useApi({
    'server.yaml': server('demo', await findFreePort()),
    'whoami.yaml': COMMENT + whoami('whoami', 'demo', port),
  });
});
afterAll(() => api.close());

const report = async (name: string): Promise<WorkloadReport> =>
  WorkloadReport.parse(await (await api.call('GET', `/workloads/${name}/status`)).json());
const becomes = (name: string, status: string): Promise<WorkloadReport> =>
  eventually(
    () => report(name),
    (told) => told.status === status,
    60_000,
  );
const answers = (): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/mcp`).then(
    () => true,
    () => false,
  );

describe('a running workload', () => {
  it('appears as running, and has a log', async () => {
    expect((await becomes('whoami', 'running')).status_context).toBe('');
    const listed = async () => {
      const { workloads } = (await (await api.call('GET', '/workloads')).json()) as { workloads: { name: string }[] };
      return workloads.map(({ name }) => name);
    };
    // The list contains running workloads only, so this one after the server's probe.
    await eventually(listed, (names) => names.includes('whoami'), 60_000);
    expect(await listed()).toEqual(['whoami']);
    const { status, headers } = await api.call('GET', '/workloads/whoami/logs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  });

  it('ends when stopped, and comes back from the same manifest when started', async () => {
    const before = api.place.read('manifests/whoami.yaml');
    expect((await api.call('POST', '/workloads/whoami/stop')).status).toBe(202);
    await becomes('whoami', 'stopped');
    expect(await answers()).toBe(false);
    expect((await api.call('POST', '/workloads/whoami/start')).status).toBe(202);
    await becomes('whoami', 'running');
    await eventually(answers, Boolean, 60_000);
    expect(api.place.read('manifests/whoami.yaml')).toBe(before);
  });

  it('becomes another process after a restart', async () => {
    const pid = async () =>
      (await api.place.status()).processes.find(({ name }) => name === 'mcp-whoami')?.identity?.pid;
    const before = await pid();
    expect(before).toBeDefined();
    const { status, body } = await accepted('/workloads/restart', { names: ['whoami'] });
    expect([status, body.accepted, body.unknown]).toEqual([202, ['whoami'], []]);
    const ended = await eventually(
      () => operation(body.operation_id),
      ({ status: how }) => how !== 'running',
      60_000,
    );
    // The operation ends after the restart, not after the manifest's write.
    expect([ended.status, (await pid()) === before]).toEqual(['succeeded', false]);
    await eventually(pid, (now) => now !== undefined, 60_000);
    expect(api.place.read('manifests/whoami.yaml')).toContain(COMMENT);
  });

  it('does not restart after an edit without changes', async () => {
    await becomes('whoami', 'running');
    const process = async () => (await api.place.status()).processes.find(({ name }) => name === 'mcp-whoami');
    const [before, text] = [await process(), api.place.read('manifests/whoami.yaml')];
    const read = await api.call('GET', '/workloads/whoami');
    const etag = read.headers.get('etag') ?? '';
    const edited = await api.call('POST', '/workloads/whoami/edit', await read.json(), { 'if-match': etag });
    expect([edited.status, edited.headers.get('etag')]).toEqual([200, etag]);
    expect(api.place.read('manifests/whoami.yaml')).toBe(text);
    expect(await process()).toEqual(before);
  });

  it('streams its log until the reader closes', async () => {
    const reading = new AbortController();
    const { body } = await fetch(`${api.url}/workloads/whoami/logs?follow&lines=0`, {
      headers: { authorization: `Bearer ${api.token}` },
      signal: reading.signal,
    });
    let received = '';
    const read = (async () => {
      const decoder = new TextDecoder();
      for await (const piece of body ?? []) received += decoder.decode(piece as Uint8Array);
    })().catch(() => undefined);
    await api.call('POST', '/workloads/whoami/restart');
    await eventually(
      () => received,
      (text) => text.includes('\n'),
      60_000,
    );
    reading.abort();
    await read;
  });

  it('becomes an error with its exit code if it crashes', async () => {
    const command = ['node', '-e', 'process.exit(3)'];
    const body = {
      name: 'broken',
      command,
      transport: 'streamable-http',
      target_port: await findFreePort(),
      group: 'demo',
    };
    expect((await api.call('POST', '/workloads', body)).status).toBe(201);
    expect((await becomes('broken', 'error')).status_context).toContain('exited with code 3');
    expect((await api.call('DELETE', '/workloads/broken')).status).toBe(204);
    await eventually(
      async () => (await api.place.status()).processes.map(({ name }) => name),
      (names) => !names.includes('mcp-broken'),
      60_000,
    );
  });
});

async function accepted(path: string, body: unknown) {
  const answer = await api.call('POST', path, body);
  return { status: answer.status, body: OperationAccepted.parse(await answer.json()) };
}

const operation = async (id: string): Promise<WorkloadOperation> =>
  WorkloadOperation.parse(await (await api.call('GET', `/operations/${id}`)).json());
