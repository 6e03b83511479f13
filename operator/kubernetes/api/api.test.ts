import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { ApiError } from './api-error.ts';
import { KubeApi } from './api.ts';
import { connect } from './connection.ts';
import { statusBody } from '../testdata/fake-api-server.ts';
import { WatchServer } from '../testdata/watch-server.ts';

const THINGS = { group: 'vmcp.dev', version: 'v1alpha1', plural: 'things', namespaced: true };
const DEPLOYMENTS = { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true };
const SECRETS = { group: '', version: 'v1', plural: 'secrets', namespaced: true };
const NODES = { group: '', version: 'v1', plural: 'nodes', namespaced: false };
const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a', namespace: 'ns' } };

async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const problem: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (problem instanceof ApiError) return problem;
  throw new Error(`no ApiError: ${String(problem)}`);
}

describe('KubeApi', () => {
  let server: WatchServer;
  let api: KubeApi;
  let counted: string[];
  beforeEach(async () => {
    server = await new WatchServer().start();
    counted = [];
    api = server.api((verb, resource, code) => counted.push(`${verb} ${resource} ${code}`));
  });
  afterEach(async () => {
    // Waiting calls end with the server.
    await server.close();
    await api.close();
  });
  const last = () => server.requests.at(-1)!;

  it('sends the token of the kubeconfig', async () => {
    await api.getPath('/openid/v1/jwks');
    expect(last().headers.authorization).toBe('Bearer a-token');
  });

  it('applies with field manager and force, as an apply patch', async () => {
    await api.apply(DEPLOYMENTS, object, { fieldManager: 'vmcp', force: true });
    const { method, path, query, headers, body } = last();
    expect([method, path]).toEqual(['PATCH', '/apis/apps/v1/namespaces/ns/deployments/a']);
    expect(query.toString()).toBe('fieldManager=vmcp&force=true');
    expect(headers['content-type']).toBe('application/apply-patch+yaml');
    expect(JSON.parse(body)).toEqual(object);
  });

  it('patches a status below its own path, and creates, replaces and deletes', async () => {
    await api.patchStatus(THINGS, { namespace: 'ns', name: 'a' }, { phase: 'Ready' }, { fieldManager: 'vmcp' });
    expect([last().path, last().body]).toEqual([
      '/apis/vmcp.dev/v1alpha1/namespaces/ns/things/a/status',
      '{"status":{"phase":"Ready"}}',
    ]);
    expect(last().headers['content-type']).toBe('application/merge-patch+json');
    await api.create(DEPLOYMENTS, object, { dryRun: true });
    expect([last().method, last().path]).toEqual(['POST', '/apis/apps/v1/namespaces/ns/deployments']);
    expect(Object.fromEntries(last().query)).toEqual({ dryRun: 'All', fieldValidation: 'Strict' });
    await api.replace(DEPLOYMENTS, object);
    expect([last().method, last().path]).toEqual(['PUT', '/apis/apps/v1/namespaces/ns/deployments/a']);
    expect(await api.delete(NODES, { name: 'n' }, { uid: 'u' })).toBe(true);
    expect([last().path, JSON.parse(last().body)]).toMatchObject(['/api/v1/nodes/n', { preconditions: { uid: 'u' } }]);
  });

  it.each(['', '.', '..', '../others', 'a/status', 'a%2fstatus'])(
    'rejects the name %j, which would change the path',
    async (name) => {
      const place = { namespace: 'team', name };
      const refused = { status: 400, message: expect.stringContaining('no object can be called so') as unknown };
      await expect(api.get(SECRETS, place)).rejects.toMatchObject(refused);
      await expect(api.delete(SECRETS, place)).rejects.toMatchObject(refused);
      await expect(api.get(SECRETS, { namespace: name, name: 'a' })).rejects.toMatchObject(refused);
      expect(server.requests).toEqual([]);
    },
  );

  it('treats a deletion of a missing object as done', async () => {
    server.nextAnswers.push({ status: 404, body: statusBody(404, 'NotFound') });
    expect(await api.delete(THINGS, { namespace: 'ns', name: 'a' })).toBe(false);
  });

  it("reports the server's refusal: status, reason, causes and delay", async () => {
    const details = { causes: [{ field: 'spec.replicas', reason: 'FieldValueInvalid', message: 'must be positive' }] };
    server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid', 'it is invalid', details) });
    const refused = await errorOf(api.create(THINGS, object));
    expect(refused).toMatchObject({ status: 422, reason: 'Invalid', causes: details.causes, retryHelps: false });
    expect(refused.message).toBe('create /apis/vmcp.dev/v1alpha1/namespaces/ns/things: 422 Invalid: it is invalid');
    server.nextAnswers.push({ status: 429, headers: { 'retry-after': '3' }, body: 'slow down' });
    expect(await errorOf(api.create(THINGS, object))).toMatchObject({
      status: 429,
      retryAfter: 3000,
      retryHelps: true,
    });
    expect(counted).toEqual(['create things 422', 'create things 429']);
  });

  it.each([
    [409, true],
    [500, true],
    [503, true],
    [401, true],
    [400, false],
    [403, false],
    [404, false],
    [410, false],
  ])('reports whether a retry helps after %d', async (status, helps) => {
    server.nextAnswers.push({ status, body: statusBody(status, 'Reason') });
    expect((await errorOf(api.create(THINGS, object))).retryHelps).toBe(helps);
  });

  it.each([
    [429, 10_000],
    [502, 10_000],
    [503, 10_000],
    [504, 10_000],
    [500, undefined],
    [409, undefined],
    [403, undefined],
  ])('reports whether %d means that the server is away and an early retry is right', async (status, retryWithin) => {
    server.nextAnswers.push({ status, body: statusBody(status, 'Reason') });
    expect((await errorOf(api.create(THINGS, object))).retryWithin).toBe(retryWithin);
  });

  it("hides the server's text about a Secret, which may quote its values", async () => {
    const details = { causes: [{ field: 'data', message: 'hunter2' }] };
    server.nextAnswers.push({ status: 422, body: statusBody(422, 'Invalid', 'invalid value "hunter2"', details) });
    const problem = await errorOf(api.create(SECRETS, object));
    expect(problem.message).toBe('create /api/v1/namespaces/ns/secrets: 422 Invalid');
    expect(JSON.stringify([problem, problem.causes])).not.toContain('hunter2');
  });

  it('fetches a new token when its own is refused, and only then', async () => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'test', server: server.url, skipTLSVerify: true },
      { name: 'tester', token: 'a-token' },
    );
    const connection = connect(config);
    let forgotten = 0;
    const own = new KubeApi({ ...connection, forget: () => (forgotten += 1) });
    for (const [status, times] of [
      [403, 0],
      [401, 1],
    ] as const) {
      server.nextAnswers.push({ status, body: statusBody(status, 'Reason') });
      expect((await errorOf(own.create(THINGS, object))).status).toBe(status);
      expect([status, forgotten]).toEqual([status, times]);
    }
    await own.close();
  });

  it('ends a call at its deadline', async () => {
    const silent = server.api();
    server.nextAnswers.push({ status: 200, body: '{"half":' });
    expect(await errorOf(api.getPath('/x'))).toMatchObject({ status: 0, reason: 'InvalidAnswer' });
    server.hold = true;
    const startedAt = Date.now();
    expect(await errorOf(silent.getPath('/x', { deadline: 100 }))).toMatchObject({ status: 0, reason: 'Timeout' });
    expect(Date.now() - startedAt).toBeLessThan(10_000);
    await silent.close();
  });

  it.each<[what: string, call: (of: KubeApi) => Promise<unknown>]>([
    ['reads', (of) => of.get(DEPLOYMENTS, { namespace: 'ns', name: 'a' })],
    ['lists', (of) => of.list(DEPLOYMENTS)],
    ['applies', (of) => of.apply(DEPLOYMENTS, object, { fieldManager: 'vmcp' })],
    ['creates', (of) => of.create(DEPLOYMENTS, object)],
    ['deletes', (of) => of.delete(DEPLOYMENTS, { namespace: 'ns', name: 'a' })],
  ])('ends a call that %s something after 30 s, also if the answer never ends', async (_what, call) => {
    const asked: number[] = [];
    const begin = AbortSignal.timeout.bind(AbortSignal);
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
      asked.push(milliseconds);
      return begin(milliseconds / 300);
    });
    try {
      server.trickle = true;
      expect(await errorOf(call(api))).toMatchObject({ status: 0, reason: 'Timeout' });
      expect(asked).toEqual([30_000]);
    } finally {
      timeout.mockRestore();
    }
  });

  it('stops reading an object of more than 12 MiB', async () => {
    server.nextAnswers.push({ status: 200, body: JSON.stringify({ data: 'x'.repeat(13 * 1024 * 1024) }) });
    const problem = await errorOf(api.get(SECRETS, { namespace: 'ns', name: 'a' }));
    expect(problem).toMatchObject({ status: 0, reason: 'TooLong' });
  });

  it('reports a missing API server', async () => {
    await server.close();
    const problem = await errorOf(api.getPath('/x'));
    expect(problem).toMatchObject({ status: 0, reason: 'Unreachable', retryHelps: true, isAway: true });
    expect(problem.message).toContain('ECONNREFUSED');
    expect(counted).toEqual(['get /x 0']);
    server = await new WatchServer().start();
  });
});
