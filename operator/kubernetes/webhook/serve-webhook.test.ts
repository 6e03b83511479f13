import { once } from 'node:events';
import { request } from 'node:https';
import { connect } from 'node:net';
import { TLSSocket } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { type Certificates, renewCertificates } from '../certificates/renew-certificates.ts';
import { serveWebhook, type WebhookServer } from './serve-webhook.ts';

const NAME = 'vmcp-webhook.vmcp-system.svc';
const PATH = '/review/secret';
const SNAPSHOT = emptySnapshot({
  namespace: 'team',
  platform: { mode: 'cluster', runtimeImage: 'vmcp-runtime:1', allowHostPaths: false },
});

interface Answer {
  status: number;
  // The parsed answer.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  serialNumber: string;
}

function ask(port: number, ca: string, body: string, path = PATH, method = 'POST', from?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port, path, method, ca, servername: NAME, agent: false, localAddress: from },
      (incoming) => {
        const { socket } = incoming;
        const serialNumber = socket instanceof TLSSocket ? socket.getPeerCertificate().serialNumber : '';
        let text = '';
        incoming.setEncoding('utf8').on('data', (part: string) => (text += part));
        incoming.once('end', () =>
          resolve({ status: incoming.statusCode ?? 0, body: text === '' ? '' : JSON.parse(text), serialNumber }),
        );
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

const spec = { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } };
const object = (change: object = {}) => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'a', namespace: 'team', uid: 'u', creationTimestamp: null, managedFields: [{}] },
  spec,
  ...change,
});
const reviewOf = (request: object) =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'r1', namespace: 'team', operation: 'CREATE', object: object(), oldObject: null, ...request },
  });

const WRONG = object({ spec: { ...spec, replicas: 3 } });

describe('serveWebhook', () => {
  let server: WebhookServer | undefined;
  let problems: unknown[] = [];

  async function serve(
    options: { snapshotFor?: (manifest: Manifest) => Promise<Snapshot>; deadline?: number } = {},
  ): Promise<Certificates> {
    const certificates = await renewCertificates(undefined, [NAME], Date.now());
    problems = [];
    server = await serveWebhook(certificates, {
      port: 0,
      host: '127.0.0.1',
      path: () => PATH,
      snapshotFor: () => Promise.resolve(SNAPSHOT),
      onProblem: (problem) => problems.push(problem),
      ...options,
    });
    return certificates;
  }

  afterEach(async () => {
    await server?.close();
  });

  it('refuses with the reason, and admits with warnings, under the uid of the request', async () => {
    const { authorities } = await serve();
    const refused = await ask(server!.port, authorities, reviewOf({ object: WRONG }));
    expect(refused.body).toMatchObject({
      kind: 'AdmissionReview',
      response: { uid: 'r1', allowed: false, status: { reason: 'Invalid', code: 422 } },
    });
    expect(refused.body.response.status.message).toContain('3 replicas need sessionStorage.provider redis');
    const admitted = await ask(server!.port, authorities, reviewOf({}));
    expect(admitted.body.response).toMatchObject({ uid: 'r1', allowed: true });
    expect(admitted.body.response.warnings).toContainEqual(expect.stringContaining('Anybody who reaches the endpoint'));
  });

  it('skips resources that are being removed, and changes outside of the spec', async () => {
    const { authorities } = await serve();
    const going = { ...WRONG, metadata: { ...WRONG.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const former = object({ spec: WRONG.spec });
    for (const asked of [
      { operation: 'UPDATE', object: going, oldObject: object() },
      { operation: 'UPDATE', object: WRONG, oldObject: former },
      { operation: 'DELETE', object: null, oldObject: WRONG },
    ]) {
      const { body } = await ask(server!.port, authorities, reviewOf(asked));
      expect(body.response).toEqual({ uid: 'r1', allowed: true });
    }
  });

  it('answers others while one address opens idle connections, and closes those', async () => {
    const { authorities } = await serve();
    const silent = Array.from({ length: 256 }, () => connect(server!.port, '127.0.0.1').on('error', () => undefined));
    const closed = silent.map((socket) => once(socket, 'close'));
    await Promise.race(closed);
    const { status } = await ask(server!.port, authorities, reviewOf({}), PATH, 'POST', '127.0.0.9');
    expect(status).toBe(200);
    await Promise.all(closed);
  }, 60_000);

  it('answers only at its secret path', async () => {
    const { authorities } = await serve();
    expect((await ask(server!.port, authorities, reviewOf({}), '/review/guess')).status).toBe(404);
    expect((await ask(server!.port, authorities, '', PATH, 'GET')).status).toBe(405);
  });

  it('admits a resource that it cannot check in time, and reports it', async () => {
    const { authorities } = await serve({ snapshotFor: () => sleep(5000, SNAPSHOT, { ref: false }), deadline: 50 });
    const { body } = await ask(server!.port, authorities, reviewOf({ object: WRONG }));
    expect(body.response).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('without being looked at')],
    });
    expect(problems).toHaveLength(1);
  });

  it('admits a resource that it cannot check because the API server does not answer', async () => {
    const { authorities } = await serve({ snapshotFor: () => Promise.reject(new Error('away')) });
    const { body } = await ask(server!.port, authorities, reviewOf({ object: WRONG }));
    expect(body.response.allowed).toBe(true);
    expect(problems).toHaveLength(1);
  });

  it.each([
    ['no JSON', 'nonsense', 400],
    ['another document', '{"kind":"Pod"}', 400],
    ['a kind that is not ours', reviewOf({ object: { ...object(), kind: 'Pod' } }), 400],
    ['a body without end', ' '.repeat(9 * 1024 * 1024), 413],
    ['more values than a resource has', `[${'{},'.repeat(50_000)}{}]`, 413],
  ])('refuses %s', async (_what, body, status) => {
    const { authorities } = await serve();
    const answer = await ask(server!.port, authorities, body).catch(
      (problem: unknown) => problem as NodeJS.ErrnoException,
    );
    // A sender may find the connection closed before it reads the answer.
    if (answer instanceof Error) expect(['EPIPE', 'ECONNRESET']).toContain(answer.code);
    else expect(answer.status).toBe(status);
    expect((await ask(server!.port, authorities, reviewOf({}))).status).toBe(200);
  });

  it('limits concurrent reviews, in total and per namespace, so that other namespaces are served', async () => {
    const open = new Map<string, number>();
    const most = new Map<string, number>();
    const held = Promise.withResolvers<undefined>();
    const snapshotFor = async ({ metadata: { namespace } }: Manifest) => {
      open.set(namespace, (open.get(namespace) ?? 0) + 1);
      most.set(namespace, Math.max(most.get(namespace) ?? 0, open.get(namespace) ?? 0));
      if (namespace === 'team') await held.promise;
      open.set(namespace, (open.get(namespace) ?? 0) - 1);
      return SNAPSHOT;
    };
    const { authorities } = await serve({ snapshotFor, deadline: 30_000 });
    const asked = Array.from({ length: 20 }, () => ask(server!.port, authorities, reviewOf({})));
    const other = reviewOf({ namespace: 'other', object: object({ metadata: { name: 'a', namespace: 'other' } }) });
    expect((await ask(server!.port, authorities, other)).body.response.allowed).toBe(true);
    expect(most.get('team')).toBe(2);
    held.resolve(undefined);
    for (const { body } of await Promise.all(asked)) expect(body.response.allowed).toBe(true);
    expect(Object.fromEntries(most)).toEqual({ team: 2, other: 1 });
  });

  it("reads long bodies only within a quota, leaves the others to the API server's failure policy, and reads short ones", async () => {
    const held = Promise.withResolvers<Snapshot>();
    const snapshotFor = () => held.promise;
    const { authorities } = await serve({ snapshotFor, deadline: 5000 });
    const long = reviewOf({ object: object({ spec: { ...spec, long: 'x'.repeat(2.5 * 1024 * 1024) } }) });
    const statusOf = async (body: string) =>
      ask(server!.port, authorities, body).then(
        ({ status }) => status,
        () => 503,
      );
    const asked = [long, long, long].map(statusOf);
    const other = reviewOf({ namespace: 'other', object: object({ metadata: { name: 'a', namespace: 'other' } }) });
    const { body } = await ask(server!.port, authorities, other);
    expect(body.response.warnings).toEqual([expect.stringContaining('without being looked at')]);
    expect((await Promise.all(asked)).sort()).toEqual([200, 200, 503]);
    // The quota is taken as long as the work continues, even after the deadline.
    expect(await statusOf(long)).toBe(503);
    held.resolve(SNAPSHOT);
    expect(await statusOf(long)).toBe(200);
  });

  it('uses a renewed certificate from the next connection on', async () => {
    const first = await serve();
    const before = await ask(server!.port, first.authorities, reviewOf({}));
    const renewed = await renewCertificates(first, [NAME], Date.now() + 61 * 24 * 60 * 60 * 1000);
    server!.use({ ...renewed, certificate: first.certificate, key: first.key });
    const other = await renewCertificates({ ...first, certificate: '' }, [NAME], Date.now());
    server!.use(other);
    const after = await ask(server!.port, first.authorities, reviewOf({}));
    expect(after.serialNumber).not.toBe(before.serialNumber);
  });
});
