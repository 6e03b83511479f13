import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { OperationAccepted, WorkloadOperation } from '#management/records/workload-operation';
import { WorkloadList, WorkloadReport } from '#management/records/workload';
import { listenOn } from '#runtime/http/listen-on';
import { eventually } from '../local/run-vmcp.ts';
import { makeSigstore } from '../provenance/make-sigstore.ts';
import { signSimply, storeByTag } from '../provenance/sign-image.ts';
import { describeWithRegistry, type OciRegistry, serveOci, TGZ } from '../skills/serve-oci.ts';
import { makeAccount, tokenOf } from './accounts.ts';
import { fake } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { AUDIENCE, useManagement } from './use-management.ts';

const API = 'vmcp.dev/v1alpha1';
const REMOTE = { remoteUrl: 'https://far.example/mcp' };

describeWithCluster('workloads of a cluster by the management API', (cluster) => {
  const roots = mkdtempSync(join(tmpdir(), 'vmcp-roots-'));
  const fetching = ['--allow-private-addresses', `--sigstore-roots=${roots}`];
  const stage = useManagement(cluster, 'management-workloads', ...fetching);
  afterAll(() => rmSync(roots, { recursive: true, force: true }));
  const ask: typeof stage.ask = (...question) => stage.ask(...question);
  const codeOf = async (...question: Parameters<typeof stage.ask>) => {
    const { status, body } = await ask(...question);
    return [status, (body as { code?: string }).code];
  };
  const place = (name = '') => `/apis/${API}/namespaces/${stage.namespace}/mcpservers${name === '' ? '' : `/${name}`}`;
  const live = async (name: string) =>
    (await cluster.ask('GET', place(name))).body as {
      metadata: { resourceVersion: string; generation: number; annotations?: Record<string, string> };
      spec: Record<string, unknown>;
      status?: { restartedAt?: string };
    };
  const apply = async (manager: string, name: string, spec: object) => {
    const object = { apiVersion: API, kind: 'MCPServer', metadata: { name }, spec };
    const { body } = await cluster.apply(place(name), object, { manager });
    expect(body).toMatchObject({ kind: 'MCPServer', metadata: { name } });
  };
  const becomes = (name: string, status: string) =>
    eventually(
      async () => WorkloadReport.parse((await ask('GET', `/workloads/${name}/status`)).body),
      (report) => report.status === status,
      120_000,
    );
  const end = (id: string) =>
    eventually(
      async () => WorkloadOperation.parse((await ask('GET', `/operations/${id}`)).body),
      ({ status }) => status !== 'running',
      120_000,
    );
  const far = (name: string, more: object = {}) => ({ name, url: 'https://far.example/mcp', ...more });

  it('start in a group, run, show their log, stop and start again', async () => {
    expect((await ask('POST', '/groups', { body: { name: 'tools', description: 'Ours' } })).status).toBe(201);
    const { image, command, env } = fake('', 'whoami') as {
      image: string;
      command: string[];
      env: { name: string; value: string }[];
    };
    const env_vars = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const body = { name: 'whoami', group: 'tools', image, command, transport: 'streamable-http', env_vars };
    expect((await ask('POST', '/workloads', { body })).status).toBe(201);
    await becomes('whoami', 'running');
    const log = await ask('GET', '/workloads/whoami/logs?lines=5');
    expect([log.status, log.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await codeOf('GET', '/workloads/whoami/logs', { as: 'viewer' })).toEqual([403, 'forbidden']);
    expect((await ask('POST', '/workloads/whoami/stop')).status).toBe(202);
    await becomes('whoami', 'stopped');
    expect(WorkloadList.parse((await ask('GET', '/workloads')).body).workloads).toEqual([]);
    // Its pod takes some time to end.
    await eventually(
      () => codeOf('GET', '/workloads/whoami/logs'),
      ([, code]) => code === 'not_found',
      90_000,
    );
    expect((await ask('POST', '/workloads/whoami/start')).status).toBe(202);
    expect((await live('whoami')).spec).not.toHaveProperty('suspend', true);
    await becomes('whoami', 'running');
    const { body: exported } = await ask('GET', '/workloads/whoami/export');
    expect(exported).toMatchObject({ name: 'whoami', image, target_host: `mcp-whoami.${stage.namespace}.svc` });
  }, 240_000);

  it('roll out nothing when a workload is read and sent back unchanged', async () => {
    await ask('POST', '/workloads', { body: far('same', { tools: ['find'], permission_profile: { read: ['/x'] } }) });
    const { body, headers } = await ask('GET', '/workloads/same');
    const before = await live('same');
    const etag = String(headers.etag);
    const edited = await ask('POST', '/workloads/same/edit', { body, headers: { 'if-match': etag } });
    expect([edited.status, edited.headers.etag]).toEqual([200, etag]);
    const after = await live('same');
    expect([after.metadata.generation, after.spec]).toEqual([before.metadata.generation, before.spec]);
    const late = { body: { tools: ['other'] }, headers: { 'if-match': '"former"' } };
    expect(await codeOf('POST', '/workloads/same/edit', late)).toEqual([412, 'stale']);
  }, 60_000);

  it('lose none of 50 concurrent changes', async () => {
    await ask('POST', '/workloads', { body: far('busy') });
    const edits = [
      { tools: ['a'] },
      { tools_override: { a: { name: 'b' } } },
      { proxy_port: 9000 },
      { group: 'tools' },
    ];
    const told = await Promise.all(
      Array.from({ length: 50 }, (_, n) => ask('POST', '/workloads/busy/edit', { body: edits[n % edits.length] })),
    );
    expect(told.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect((await ask('GET', '/workloads/busy')).body).toMatchObject(
      Object.fromEntries(edits.flatMap((edit) => Object.entries(edit))),
    );
  }, 60_000);

  it.each([
    ['an MCPServer', 'mcpservers', '/workloads', (n: number) => ['POST', '/edit', { tools: [`tool-${n}`] }] as const],
    ['an MCPGroup', 'mcpgroups', '/groups', (n: number) => ['PUT', '', { description: `${n}` }] as const],
  ])(
    'return busy while other writers change the object all the time: %s',
    async (_, plural, path, change) => {
      const body = path === '/groups' ? { name: 'wanted' } : far('wanted');
      expect((await ask('POST', path, { body })).status).toBe(201);
      const object = place('wanted').replace('mcpservers', plural);
      const merge = { 'content-type': 'application/merge-patch+json' };
      let [writes, changes, stopped] = [0, 0, false];
      const write = async () => {
        while (!stopped) {
          const patch = { metadata: { annotations: { write: `${(writes += 1)}` } } };
          await cluster.ask('PATCH', object, patch, merge);
        }
      };
      const edit = () => {
        const [method, more, to] = change((changes += 1));
        return codeOf(method, `${path}/wanted${more}`, { body: to });
      };
      const writers = Array.from({ length: 6 }, write);
      try {
        // An edit may be faster than the other writers, so it is repeated.
        expect(await eventually(edit, ([status]) => status !== 200)).toEqual([409, 'busy']);
      } finally {
        stopped = true;
        await Promise.all(writers);
      }
      expect(await edit()).toEqual([200, undefined]);
    },
    90_000,
  );

  it('keep fields of another manager unless the change is forced', async () => {
    await apply('argocd', 'owned', { remoteUrl: 'https://far.example/mcp', toolsFilter: ['one'] });
    const refused = await ask('POST', '/workloads/owned/edit', { body: { tools: ['two'] } });
    expect([refused.status, refused.body]).toEqual([
      409,
      expect.objectContaining({ code: 'conflict', detail: expect.stringContaining('argocd') }),
    ]);
    expect((await ask('POST', '/workloads/owned/edit?force=true', { body: { tools: ['two'] } })).status).toBe(200);
    expect((await live('owned')).spec.toolsFilter).toEqual(['two']);
    // No manager owns this field, so there is no conflict.
    expect((await ask('POST', '/workloads/owned/stop')).status).toBe(202);
    expect((await live('owned')).spec.suspend).toBe(true);
  }, 60_000);

  it.each(['apply', 'create'])(
    'stop and start without a conflict if kubectl %s made them and their manifest omits the field',
    async (way) => {
      const name = `silent-${way}`;
      const object = { apiVersion: API, kind: 'MCPServer', metadata: { name }, spec: REMOTE };
      const made = await cluster.kubectl(['-n', stage.namespace, way, '-f', '-'], JSON.stringify(object));
      expect(made.code).toBe(0);
      expect(await codeOf('POST', `/workloads/${name}/stop`)).toEqual([202, undefined]);
      expect((await live(name)).spec.suspend).toBe(true);
      expect(await codeOf('POST', `/workloads/${name}/start`)).toEqual([202, undefined]);
      expect((await live(name)).spec).not.toHaveProperty('suspend');
    },
  );

  it('let viewers read, and editors change them with the rights to their references', async () => {
    for (const path of ['/workloads?all', '/workloads/same', '/workloads/same/status', '/groups', '/groups/tools'])
      expect([path, (await ask('GET', path, { as: 'viewer' })).status]).toEqual([path, 200]);
    for (const [method, path, body] of [
      ['POST', '/workloads', far('theirs')],
      ['POST', '/workloads/same/edit', { tools: ['x'] }],
      ['POST', '/workloads/same/stop'],
      ['POST', '/workloads/same/start'],
      ['POST', '/workloads/same/restart'],
      ['DELETE', '/workloads/same'],
      ['POST', '/workloads/delete', { names: ['same'] }],
      ['POST', '/workloads/restart', { group: 'tools' }],
      ['POST', '/groups', { name: 'theirs' }],
      ['PUT', '/groups/tools', { description: 'x' }],
      ['DELETE', '/groups/tools'],
    ] as const)
      expect([method, path, ...(await codeOf(method, path, { as: 'viewer', body }))]).toEqual([
        method,
        path,
        403,
        'forbidden',
      ]);
    expect(await codeOf('GET', '/workloads', { as: 'neighbour' })).toEqual([403, 'forbidden']);
    const named = far('named', { header_forward: { add_headers_from_secret: { 'X-Key': 'company/key' } } });
    expect(await codeOf('POST', '/workloads', { as: 'keyless', body: named })).toEqual([403, 'forbidden']);
    expect((await ask('POST', '/workloads', { body: named })).status).toBe(201);
    expect(await codeOf('POST', '/workloads/named/edit', { as: 'keyless', body: { tools: ['x'] } })).toEqual([
      403,
      'forbidden',
    ]);
  }, 60_000);

  it('refuse edits and starts by a writer without use of their configuration', async () => {
    const account = { namespace: stage.namespace, name: 'writer' };
    const writes = { apiGroups: ['vmcp.dev'], resources: ['mcpservers'], verbs: ['create', 'update'] };
    await makeAccount(cluster, account, [`${stage.release}-view`, writes]);
    const as = { authorization: `Bearer ${await tokenOf(cluster, account, AUDIENCE)}` };
    await apply('somebody', 'handed', { ...REMOTE, externalAuthConfigRef: { name: 'github' } });
    await apply('somebody', 'plain', REMOTE);
    const edit = (name: string) => ask('POST', `/workloads/${name}/edit`, { as, body: { tools: ['x'] } });
    const move = (how: string) => ask('POST', `/workloads/handed/${how}`, { as });
    expect((await edit('plain')).status).toBe(200);
    expect((await move('stop')).status).toBe(202);
    for (const refused of [await edit('handed'), await move('start'), await move('restart')])
      expect([refused.status, refused.body]).toEqual([
        403,
        expect.objectContaining({
          code: 'forbidden',
          detail: expect.stringMatching(/:writer may not use mcpexternalauthconfigs\S* "github"/),
        }),
      ]);
    await apply('somebody', 'grouped', { ...REMOTE, groupRef: 'shared' });
    const grouped = await edit('grouped');
    expect([grouped.status, grouped.body]).toEqual([
      403,
      expect.objectContaining({ detail: expect.stringMatching(/:writer may not use mcpgroups\S* "shared"/) }),
    ]);
    const { spec } = await live('handed');
    expect([spec.suspend, spec.toolsFilter]).toEqual([true, undefined]);
    const uses = {
      apiGroups: ['vmcp.dev'],
      resources: ['mcpexternalauthconfigs'],
      resourceNames: ['github'],
      verbs: ['use'],
    };
    await makeAccount(cluster, { ...account, name: 'user' }, [`${stage.release}-view`, writes, uses]);
    const user = `Bearer ${await tokenOf(cluster, { ...account, name: 'user' }, AUDIENCE)}`;
    const started = () => ask('POST', '/workloads/handed/start', { as: { authorization: user } });
    await eventually(started, ({ status }) => status === 202);
    expect((await live('handed')).spec.suspend).not.toBe(true);
  }, 60_000);

  it('complete a deletion in the background, also when the operator is killed meanwhile', async () => {
    const names = Array.from({ length: 25 }, (_, n) => `far-${n}`);
    for (const name of names) await apply('somebody', name, { remoteUrl: 'https://far.example/mcp' });
    const { status, body } = await ask('POST', '/workloads/delete', { body: { names: [...names, 'none'] } });
    const accepted = OperationAccepted.parse(body);
    expect([status, accepted.accepted.length, accepted.unknown]).toEqual([202, 25, ['none']]);
    await stage.kill();
    const record = `/api/v1/namespaces/${stage.namespace}/configmaps/vmcp.operations.${accepted.operation_id}`;
    const { body: found } = await cluster.ask('GET', record);
    // The operator must die during the deletion; otherwise the test proves nothing.
    expect(JSON.parse((found as { data: Record<string, string> }).data['record.json'] ?? '')).toMatchObject({
      status: 'running',
    });
    const kept = (await cluster.ask('GET', place())).body as { items: { metadata: { name: string } }[] };
    expect(kept.items.map(({ metadata }) => metadata.name)).toContain('same');
    await stage.start();
    const told = await end(accepted.operation_id);
    expect([told.status, new Set(told.workloads.map((one) => one.status))]).toEqual(['succeeded', new Set(['done'])]);
    const left = (await cluster.ask('GET', place())).body as { items: { metadata: { name: string } }[] };
    expect(left.items.filter(({ metadata }) => metadata.name.startsWith('far-'))).toEqual([]);
  }, 180_000);

  it('survive kill -9 of the operator: their secrets are those before or after a write', async () => {
    const valueOf = (nr: number) => `${nr} ${'x'.repeat(20_000)}`;
    const stored = async () => {
      const { body } = await cluster.ask('GET', `/api/v1/namespaces/${stage.namespace}/secrets/vmcp-secrets`);
      const { data } = body as { data: Record<string, string> };
      return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
    };
    const make = (key: string) => ask('POST', '/secrets/default/keys', { body: { key, value: valueOf(0) } });
    expect([(await make('KEPT')).status, (await make('CHANGED')).status]).toEqual([201, 201]);
    const change = (value: string) => ask('PUT', '/secrets/default/keys/CHANGED', { body: { value } });
    const answered = await stage.killAmid((nr) => change(valueOf(nr)));
    const left = await stored();
    expect([...left.keys()].sort()).toEqual(['CHANGED', 'KEPT']);
    expect([valueOf(answered), valueOf(answered + 1)]).toContain(left.get('CHANGED'));
    expect(left.get('KEPT')).toBe(valueOf(0));
    await stage.start();
    expect((await change('the last')).status).toBe(200);
    expect([(await stored()).get('CHANGED'), (await stored()).get('KEPT')]).toEqual(['the last', valueOf(0)]);
  }, 120_000);

  describeWithRegistry('with an image whose signer a registry names', () => {
    let registry: OciRegistry;
    const entries = createServer((_, response) => response.end(JSON.stringify({ servers: served })));
    let served: Record<string, object> = {};
    beforeAll(async () => {
      registry = await serveOci();
    });
    afterAll(async () => {
      entries.close();
      await registry.close();
    });

    it('refuse an image with another signer, and create nothing', async () => {
      const [sigstore, signer] = [await makeSigstore(), { issuer: 'https://accounts.example.com' }];
      writeFileSync(join(roots, 'tuf-repo-cdn.sigstore.dev.json'), sigstore.trustedRoot);
      const sign = async (repository: string, identity: string) => {
        const digest = await registry.push(repository, 'v1', [{ bytes: Buffer.from(repository), type: TGZ }]);
        const signed = await signSimply(digest, await sigstore.certify({ ...signer, identity }), sigstore);
        await storeByTag(registry, { repository, digest }, [signed]);
        const provenance = { cert_issuer: signer.issuer, signer_identity: 'https://people.example.com/alice' };
        return { image: `${registry.host}/${repository}:v1`, transport: 'stdio', provenance };
      };
      const theirs = await sign('o/theirs', 'https://people.example.com/mallory');
      const ours = await sign('o/ours', 'https://people.example.com/alice');
      served = { theirs, ours };
      const url = `http://127.0.0.1:${await listenOn(entries, '127.0.0.1', 0)}/servers.json`;
      expect((await ask('PUT', '/registry/default', { body: { url, allow_private_ip: true } })).status).toBe(200);
      const make = (name: string, { image }: { image: string }) =>
        codeOf('POST', '/workloads', { body: { name, image, registry_entry: name } });
      expect(await make('theirs', theirs)).toEqual([403, 'image_refused']);
      expect((await cluster.ask('GET', place('theirs'))).status).toBe(404);
      expect(await make('ours', ours)).toEqual([201, undefined]);
      expect((await live('ours')).spec.image).toMatch(/^127\.0\.0\.1:\d+\/o\/ours:v1@sha256:/);
      expect((await ask('DELETE', '/workloads/ours')).status).toBe(204);
    }, 60_000);
  });

  it('restart by group, and keep their group while it is in use', async () => {
    const { body } = await ask('POST', '/workloads/restart', { body: { group: 'tools' } });
    const { operation_id: id, accepted } = OperationAccepted.parse(body);
    expect(accepted).toEqual(['busy', 'whoami']);
    expect((await end(id)).status).toBe('succeeded');
    const { metadata, status } = await live('whoami');
    expect([status?.restartedAt, status?.restartedAt]).toEqual([
      expect.any(String),
      metadata.annotations?.['vmcp.dev/restarted-at'],
    ]);
    expect(await codeOf('DELETE', '/groups/tools')).toEqual([409, 'in_use']);
    await end(
      OperationAccepted.parse((await ask('POST', '/workloads/delete', { body: { group: 'tools' } })).body).operation_id,
    );
    expect((await ask('DELETE', '/groups/tools')).status).toBe(204);
  }, 270_000);
});
