import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { ownGroup, renderChart } from './chart.ts';
import type { Finished } from './run-program.ts';
import { untilEstablished } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const KINDS = ['virtualmcpservers', 'mcpgroups', 'mcpservers', 'mcpexternalauthconfigs', 'mcpoidcconfigs'];

describeWithCluster('the admission policies', (cluster) => {
  const group = ownGroup('admission');
  const apiVersion = `${group}/v1alpha1`;
  const release = group.replace('.test', '');
  let namespace: Namespace;
  let installed = '';

  const resource = (kind: string, name: string, spec: object, metadata: object = {}) =>
    stringify({ apiVersion, kind, metadata: { name, namespace: namespace.name, ...metadata }, spec });

  /** Runs server-side apply as a user. */
  const applyAs = (user: string, text: string): Promise<Finished> =>
    cluster.kubectl(['apply', '--server-side', '--force-conflicts', `--as=${user}`, '-f', '-'], text);

  async function give(user: string, name: string, ...rules: object[]): Promise<void> {
    const metadata = { name: `${name}-${user}`, namespace: namespace.name };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name };
    const objects = [
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata,
        roleRef,
        subjects: [{ apiGroup: roleRef.apiGroup, kind: 'User', name: user }],
      },
    ];
    const { code, stderr } = await cluster.kubectl(
      ['apply', '-f', '-'],
      objects.map((object) => stringify(object)).join('---\n'),
    );
    expect([code, stderr]).toEqual([0, '']);
  }

  const writes = { apiGroups: [group], resources: KINDS, verbs: ['get', 'create', 'update', 'patch'] };
  const gets = (...names: string[]) => ({
    apiGroups: [''],
    resources: ['secrets'],
    resourceNames: names,
    verbs: ['get'],
  });
  const uses = (...names: string[]) => ({
    apiGroups: [group],
    resources: ['mcpexternalauthconfigs'],
    resourceNames: names,
    verbs: ['use'],
  });

  const decides = (...names: string[]) => ({ ...uses(...names), resources: ['mcpoidcconfigs'] });
  const joins = (...names: string[]) => ({ ...uses(...names), resources: ['mcpgroups'] });
  const runs = (...names: string[]) => ({ ...uses(...names), apiGroups: [''], resources: ['serviceaccounts'] });

  /** Waits until the policies are active, which takes a moment after their creation. */
  async function refused(tried: () => Promise<Finished>): Promise<void> {
    for (let tries = 0; tries < 60; tries++) {
      if ((await tried()).code !== 0) return;
      await sleep(500);
    }
    throw new Error('the policies are not active');
  }

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('admission');
    const parts = ['crds/*', 'admission-policy', 'records-policy', 'documents-policy'].map(
      (part) => `--show-only=templates/${part}.yaml`,
    );
    installed = await renderChart([`--set=apiGroup=${group}`, ...parts], release);
    const applied = await cluster.kubectl(['apply', '--server-side', '-f', '-'], installed);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    await untilEstablished(cluster, ...KINDS.map((kind) => `crd/${kind}.${group}`));
    for (const user of ['writer', 'owner', 'reader']) await give(user, 'writes', writes);
    const own = [uses('github', 'with-secrets', 'exchange'), decides('issuer', 'with-secrets'), joins('tools')];
    await give('owner', 'uses', ...own, gets('key', 'login'));
    await give(
      'reader',
      'gets',
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      uses('other', 'with-secrets'),
      decides('with-secrets'),
      joins('tools'),
    );
    const probe = resource('MCPServer', 'probe', { image: 'a', externalAuthConfigRef: { name: 'github' } });
    await refused(() => cluster.kubectl(['apply', '--dry-run=server', '--as=writer', '-f', '-'], probe));
  });

  afterAll(async () => {
    await namespace.delete();
    await cluster.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], installed);
  });

  const evil = { remoteUrl: 'https://evil.example/mcp', groupRef: 'tools', externalAuthConfigRef: { name: 'github' } };

  it('keep a writer without use of a configuration from joining a group with it and receiving all callers’ tokens', async () => {
    const { code, stderr } = await applyAs('writer', resource('MCPServer', 'evil', evil));
    expect(code).not.toBe(0);
    expect(stderr).toContain('writer may not use MCPExternalAuthConfig github, which this MCPServer hands on');
    expect(stderr).toContain('Forbidden');
  });

  it.each<[string, object]>([
    ['VirtualMCPServer', { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } }],
    ['MCPServer', { remoteUrl: 'https://evil.example/mcp', groupRef: 'tools' }],
  ])('refuse a %s of a group to a writer without use of the group', async (kind, spec) => {
    const { code, stderr } = await applyAs('writer', resource(kind, 'intruder', spec));
    expect(code).not.toBe(0);
    expect(stderr).toContain("writer may not use MCPGroup tools, and use of a group is the right to its members' cred");
    expect(stderr).toContain('Forbidden');
    expect(await applyAs('owner', resource(kind, 'intruder', spec))).toMatchObject({ code: 0 });
    const changed = resource(kind, 'intruder', { ...spec, serviceAccount: 'default' });
    expect((await applyAs('writer', changed)).stderr).toContain('writer may not use MCPGroup tools');
  });

  const PLAIN: [string, object][] = [
    ['MCPServer', { image: 'a' }],
    ['VirtualMCPServer', { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } }],
  ];

  it.each(PLAIN)('refuse a %s with a serviceAccount to a writer without use of the account', async (kind, own) => {
    const spec = { ...own, serviceAccount: 'robot' };
    const { code, stderr } = await applyAs('owner', resource(kind, 'robots', spec));
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('owner may not use ServiceAccount robot, whose rights'),
    ]);
    await give('runner', 'runs', writes, joins('tools'), runs('robot'));
    expect(await applyAs('runner', resource(kind, 'robots', spec))).toMatchObject({ code: 0 });
  });

  it.each(PLAIN)('require access to the pull secrets in the template of a %s', async (kind, own) => {
    const pulls = (...names: string[]) => {
      const imagePullSecrets = names.map((name) => ({ name }));
      return resource(kind, 'pulls', { ...own, podTemplateSpec: { spec: { imagePullSecrets } } });
    };
    const { code, stderr } = await applyAs('owner', pulls('key', 'foreign'));
    expect([code, stderr]).toEqual([1, expect.stringContaining('owner may not get Secret foreign')]);
    expect(await applyAs('owner', pulls('key', 'login'))).toMatchObject({ code: 0 });
  });

  it.each<[string, object, object]>([
    ['MCPServer', { image: 'a' }, { podTemplateSpec: { metadata: { labels: { app: 'redis' } } } }],
    ['MCPServer', { image: 'a' }, { resourceOverrides: { proxyDeployment: { podLabels: { app: 'redis' } } } }],
    [
      'VirtualMCPServer',
      { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } },
      { podTemplateSpec: { metadata: { labels: { app: 'redis' } } } },
    ],
  ])('refuse labels of pods of a %s to a writer who may not create pods', async (kind, own, labels) => {
    const labelled = resource(kind, 'labelled', { ...own, ...labels });
    const refusal = expect.stringContaining('owner may not create pods, and labels of pods decide which Services');
    expect(await applyAs('owner', labelled)).toMatchObject({ code: 1, stderr: refusal });
    const annotated = { ...own, podTemplateSpec: { metadata: { annotations: { 'prometheus.io/scrape': 'true' } } } };
    expect(await applyAs('owner', resource(kind, 'annotated', annotated))).toMatchObject({ code: 0 });
    await give('podder', 'labels', writes, joins('tools'), { apiGroups: [''], resources: ['pods'], verbs: ['create'] });
    expect(await applyAs('podder', labelled)).toMatchObject({ code: 0 });
  });

  it.each([
    ['deployments', 'apps', { proxyDeployment: { labels: { team: 'b' } } }],
    ['services', '', { proxyService: { labels: { team: 'b' } } }],
  ])('refuse labels of %s of an endpoint to a writer who may not create these', async (plural, group, overrides) => {
    const spec = { image: 'a', proxyPort: 9000, resourceOverrides: overrides };
    const labelled = resource('MCPServer', `labelled-${plural}`, spec);
    const refusal = expect.stringContaining(`owner may not create ${plural}, and labels of ${plural} decide which`);
    expect(await applyAs('owner', labelled)).toMatchObject({ code: 1, stderr: refusal });
    const user = `creates-${plural}`;
    await give(user, 'labels', writes, { apiGroups: [group], resources: [plural], verbs: ['create'] });
    expect(await applyAs(user, labelled)).toMatchObject({ code: 0 });
  });

  it('refuse a changed or replaced MCPExternalAuthConfig to a writer without use of it', async () => {
    const exchange = (tokenUrl: string, name = 'exchange') =>
      resource('MCPExternalAuthConfig', name, { type: 'tokenExchange', tokenExchange: { tokenUrl, audience: 'a' } });
    expect(await applyAs('owner', exchange('https://login.example/token'))).toMatchObject({ code: 0 });
    const refusal = expect.stringContaining('writer may not use MCPExternalAuthConfig exchange');
    expect(await applyAs('writer', exchange('https://evil.example/token'))).toMatchObject({ code: 1, stderr: refusal });
    await cluster.kubectl(['delete', '-n', namespace.name, `mcpexternalauthconfigs.${group}`, 'exchange']);
    expect(await applyAs('writer', exchange('https://evil.example/token'))).toMatchObject({ code: 1, stderr: refusal });
  });

  it('refuse a changed or replaced MCPOIDCConfig to a writer without use of it', async () => {
    const issuer = (url: string) => resource('MCPOIDCConfig', 'issuer', { type: 'inline', inline: { issuer: url } });
    expect(await applyAs('owner', issuer('https://login.example'))).toMatchObject({ code: 0 });
    const refusal = expect.stringContaining(
      'writer may not use MCPOIDCConfig issuer, and whoever writes it decides who is let in',
    );
    expect(await applyAs('writer', issuer('https://evil.example'))).toMatchObject({ code: 1, stderr: refusal });
    await cluster.kubectl(['delete', '-n', namespace.name, `mcpoidcconfigs.${group}`, 'issuer']);
    expect(await applyAs('writer', issuer('https://evil.example'))).toMatchObject({ code: 1, stderr: refusal });
  });

  it('admit a user with use of the configuration, and a cluster administrator', async () => {
    expect(await applyAs('owner', resource('MCPServer', 'calendar', evil))).toMatchObject({ code: 0 });
    const { code } = await cluster.kubectl(
      ['apply', '--server-side', '-f', '-'],
      resource('MCPServer', 'admins', evil),
    );
    expect(code).toBe(0);
  });

  it('check use again when a user changes the destination of credentials, even if another user wrote the reference', async () => {
    await applyAs('owner', resource('MCPServer', 'moved', evil));
    const moved = resource('MCPServer', 'moved', { ...evil, remoteUrl: 'https://elsewhere.example/mcp' });
    expect((await applyAs('writer', moved)).stderr).toContain('writer may not use MCPExternalAuthConfig github');
    const labelled = resource('MCPServer', 'moved', evil, { labels: { team: 'a' } });
    expect(await applyAs('writer', labelled)).toMatchObject({ code: 0 });
  });

  describe('for records of the management API', () => {
    const record = (kind: string, name: string, labels: object = { [`${group}/record`]: kind }, document = '') => {
      const metadata = { name, namespace: namespace.name, labels };
      return stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'record.json': document } });
    };
    const maps = { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'update', 'patch'] };
    const changes = (...resources: string[]) => ({ apiGroups: [group], resources, verbs: ['update', 'delete'] });

    beforeAll(async () => {
      for (const user of ['mapper', 'librarian', 'keeper', 'worker']) await give(user, 'maps', maps);
      for (const user of ['librarian', 'keeper']) await give(user, 'changes', changes('registries'));
      await give('keeper', 'gets', { apiGroups: [''], resources: ['secrets'], verbs: ['get'] });
      await give('worker', 'works', changes('mcpservers'));
      await refused(() =>
        cluster.kubectl(['apply', '--dry-run=server', '--as=mapper', '-f', '-'], record('skills', 'probe')),
      );
    });

    it('refuse a record to a user who may only change ConfigMaps', async () => {
      expect(await applyAs('mapper', record('', 'plain', { team: 'a' }))).toMatchObject({ code: 0 });
      for (const kind of ['clients', 'registries', 'registrycopies', 'skills', 'skillchanges']) {
        const { code, stderr } = await applyAs('mapper', record(kind, `evil-${kind}`));
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/mapper may not update (clients|registries|skills) of/),
        ]);
      }
      for (const kind of ['operations', 'secretproviders', 'unknown']) {
        const { code, stderr } = await applyAs('mapper', record(kind, `evil-${kind}`));
        expect([code, stderr]).toEqual([1, expect.stringContaining('mapper may not update mcpservers of')]);
      }
    });

    it('refuse to turn another ConfigMap into a record, or a record into another kind', async () => {
      expect((await applyAs('mapper', record('registries', 'plain'))).stderr).toContain(
        'mapper may not update registries',
      );
      expect(await applyAs('librarian', record('registries', 'kept'))).toMatchObject({ code: 0 });
      expect((await applyAs('mapper', record('', 'kept', { team: 'a' }))).code).not.toBe(0);
      expect((await applyAs('librarian', record('operations', 'kept'))).stderr).toContain(
        'librarian may not update mcpservers',
      );
    });

    it('refuse a registry that sends a Secret that its writer may not get to an issuer, in any JSON notation', async () => {
      const registry = (document: string) => record('registries', 'login', undefined, document);
      const auth = (name: string) =>
        `{"url":"https://r.example","auth":{"issuer":"https://evil.example","${name}":"a/b"}}`;
      const hidden = auth('client\\u005fsecret_ref');
      expect(JSON.parse(hidden)).toMatchObject({ auth: { client_secret_ref: 'a/b' } });
      for (const document of [auth('client_secret_ref'), hidden, `${auth('x')}${' '.repeat(20_001)}`])
        expect((await applyAs('librarian', registry(document))).stderr).toContain('librarian may not get all Secrets');
      expect(await applyAs('librarian', registry(auth('client_id')))).toMatchObject({ code: 0 });
      expect(await applyAs('keeper', registry(auth('client_secret_ref')))).toMatchObject({ code: 0 });
    });

    it('admit a user with the right to the resources of the record', async () => {
      expect(await applyAs('librarian', record('registries', 'default'))).toMatchObject({ code: 0 });
      expect(await applyAs('worker', record('operations', 'work'))).toMatchObject({ code: 0 });
      expect((await applyAs('worker', record('skills', 'other'))).stderr).toContain('worker may not update skills of');
    });
  });

  describe('for run configurations', () => {
    const managed = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };
    let owner: { apiVersion: string; kind: string; name: string; uid: string };
    const document = (text: string, labels: object = managed, name = 'vmcp-of-it-v0.1.0') => {
      const metadata = { name, namespace: namespace.name, labels, ownerReferences: [owner] };
      return stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'run-config.yaml': text } });
    };

    beforeAll(async () => {
      const verbs = ['get', 'create', 'update', 'patch', 'delete'];
      const rights = { apiGroups: [''], resources: ['configmaps'], verbs };
      for (const user of ['texter', 'maker', 'second']) await give(user, 'texts', rights);
      const statuses = { apiGroups: [group], resources: ['virtualmcpservers/status'], verbs: ['patch'] };
      await give('second', 'operates', statuses);
      await give('maker', 'makes', writes, { apiGroups: [''], resources: ['secrets'], verbs: ['get'] });
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], resource('MCPServer', 'of-it', { image: 'a' }));
      const path = `/apis/${group}/v1alpha1/namespaces/${namespace.name}/mcpservers/of-it`;
      const { body } = await cluster.ask('GET', path);
      owner = { apiVersion: `${group}/v1alpha1`, kind: 'MCPServer', name: 'of-it', uid: body.metadata.uid as string };
      await refused(() =>
        cluster.kubectl(['apply', '--dry-run=server', '--as=texter', '-f', '-'], document('x', managed, 'probe')),
      );
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], document('ours'));
    });

    it('refuse a write by a user who may only change ConfigMaps, as it could redirect the Secrets of a runtime', async () => {
      for (const evil of [document('evil'), document('evil', { team: 'a' }), document('evil', managed, 'other')])
        expect((await applyAs('texter', evil)).stderr).toContain('texter may not update virtualmcpservers');
      expect(await applyAs('texter', document('ours', { ...managed, team: 'a' }))).toMatchObject({ code: 0 });
      expect(await applyAs('maker', document('theirs'))).toMatchObject({ code: 0 });
    });

    const remove = (user: string, name: string) =>
      cluster.kubectl(['delete', `--as=${user}`, '-n', namespace.name, 'configmap', name]);

    it('refuse deletion by a user who may only change ConfigMaps and could replace the object', async () => {
      expect((await remove('texter', 'vmcp-of-it-v0.1.0')).stderr).toContain('texter may not delete virtualmcpservers');
      const frozen = JSON.stringify({ immutable: true });
      const freeze = ['patch', '--as=texter', '-n', namespace.name, 'configmap', 'vmcp-of-it-v0.1.0', '-p', frozen];
      expect((await cluster.kubectl(freeze)).stderr).toContain('texter may not update virtualmcpservers');
    });

    it('admit each operator, under any account that may write statuses', async () => {
      expect(await applyAs('second', document('second', managed, 'of-second'))).toMatchObject({ code: 0 });
      expect(await applyAs('second', document('again', managed, 'of-second'))).toMatchObject({ code: 0 });
      expect(await remove('second', 'of-second')).toMatchObject({ code: 0 });
      const labels = { [`${group}/record`]: 'operations' };
      expect(await applyAs('texter', document('x', labels, 'work'))).toMatchObject({ code: 1 });
      expect(await applyAs('second', document('x', labels, 'work'))).toMatchObject({ code: 0 });
    });

    it('let cluster controllers collect orphans and empty a namespace', async () => {
      for (const controller of ['namespace-controller', 'generic-garbage-collector']) {
        await cluster.kubectl(['apply', '--server-side', '-f', '-'], document('x', managed, controller));
        expect(await remove(`system:serviceaccount:kube-system:${controller}`, controller)).toMatchObject({ code: 0 });
      }
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], document('x', managed, 'collected'));
      const at = ['-n', namespace.name, '--timeout=60s'];
      expect(await cluster.kubectl(['delete', ...at, `mcpservers.${group}`, 'of-it'])).toMatchObject({ code: 0 });
      expect(await cluster.kubectl(['wait', ...at, '--for=delete', 'configmap/collected'])).toMatchObject({ code: 0 });
      const emptied = await cluster.makeNamespace('admission-emptied');
      const metadata = { name: 'left', namespace: emptied.name, labels: managed, ownerReferences: [owner] };
      await cluster.kubectl(
        ['create', '-f', '-'],
        stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'run-config.yaml': 'x' } }),
      );
      await emptied.delete();
      const gone = ['wait', '--for=delete', '--timeout=60s', `namespace/${emptied.name}`];
      expect(await cluster.kubectl(gone)).toMatchObject({ code: 0 });
    });
  });

  describe.each<[string, string, object]>([
    [
      'a fixed header',
      'MCPExternalAuthConfig',
      {
        type: 'headerInjection',
        headerInjection: { headerName: 'X-Key', valueSecretRef: { name: 'key', key: 'value' } },
      },
    ],
    [
      'the secret of a client',
      'MCPOIDCConfig',
      {
        type: 'inline',
        inline: { issuer: 'https://login.example', clientId: 'a', clientSecretRef: { name: 'login', key: 'secret' } },
      },
    ],
    [
      'variables',
      'MCPServer',
      {
        image: 'a',
        secrets: [
          { name: 'key', key: 'b' },
          { name: 'key', key: 'a' },
        ],
      },
    ],
    [
      'headers',
      'MCPServer',
      {
        remoteUrl: 'https://b.example/mcp',
        headerForward: {
          addHeadersFromSecret: { 'X-A': { name: 'key', key: 'a' }, 'X-B': { name: 'login', key: 'b' } },
        },
      },
    ],
    [
      'a certificate and an authorization server',
      'VirtualMCPServer',
      {
        config: { groupRef: 'tools' },
        tls: { secretRef: { name: 'key' } },
        incomingAuth: {
          type: 'oidc',
          resourceUrl: 'https://mcp.example/mcp',
          oidcConfig: { type: 'inline', inline: { issuer: 'https://mcp.example' } },
        },
        authServerConfig: {
          issuer: 'https://mcp.example',
          hmacSecretRefs: [{ name: 'login', key: 'hmac' }],
          upstreamProviders: [
            {
              name: 'company',
              type: 'oidc',
              oidcConfig: {
                issuerUrl: 'https://login.example',
                clientId: 'a',
                clientSecretRef: { name: 'login', key: 'secret' },
              },
            },
          ],
        },
      },
    ],
  ])('for %s of a %s', (_what, kind, spec) => {
    it('refuse a user who may not get its Secrets, and admit a user who may', async () => {
      const text = resource(kind, 'with-secrets', spec);
      const { code, stderr } = await applyAs('writer', text);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/writer may not get Secret (key|login)/);
      expect(await applyAs('owner', text)).toMatchObject({ code: 0, stderr: expect.not.stringContaining('rror') });
      expect(await applyAs('reader', text)).toMatchObject({ code: 0 });
    });
  });

  it('name a missing Secret, and no other', async () => {
    const secrets = [
      { name: 'key', key: 'a' },
      { name: 'foreign', key: 'a' },
      { name: 'another', key: 'a' },
    ];
    const { stderr } = await applyAs('owner', resource('MCPServer', 'several', { image: 'a', secrets }));
    expect(stderr).toMatch(/owner may not get Secret (foreign|another), which/);
  });

  it('check a Secret once for all its keys, within the API server’s cost limit', async () => {
    const secrets = Array.from({ length: 200 }, (_, index) => ({
      name: 'key',
      key: `k${index}`,
      targetEnvName: `K${index}`,
    }));
    expect(await applyAs('owner', resource('MCPServer', 'many-keys', { image: 'a', secrets }))).toMatchObject({
      code: 0,
    });
  });

  it('refuse more checks than the cost limit allows, except to a user who may get all Secrets', async () => {
    const secrets = Array.from({ length: 60 }, (_, index) => ({
      name: `s${index}`,
      key: 'k',
      targetEnvName: `K${index}`,
    }));
    await give('collector', 'collects', writes, gets(...secrets.map(({ name }) => name)));
    const named = (count: number) =>
      resource('MCPServer', 'many-secrets', { image: 'a', secrets: secrets.slice(0, count) });
    expect(await applyAs('collector', named(20))).toMatchObject({ code: 0 });
    expect((await applyAs('collector', named(21))).stderr).toContain('more than 20 times a Secret is named');
    expect(await applyAs('reader', named(60))).toMatchObject({ code: 0 });
  });

  it('check 20 Secrets, a configuration, a group, an account and all labels of one MCPServer', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const labels = { apiGroups: ['', 'apps'], resources: ['pods', 'services', 'deployments'], verbs: ['create'] };
    await give('whole', 'whole', writes, gets(...names), uses('github'), joins('tools'), runs('robot'), labels);
    const secrets = names.map((name, index) => ({ name, key: 'k', targetEnvName: `K${index}` }));
    const config = { externalAuthConfigRef: { name: 'github' }, groupRef: 'tools', serviceAccount: 'robot' };
    const podTemplateSpec = { metadata: { labels: { team: 'a' } } };
    const team = { labels: { team: 'a' } };
    const resourceOverrides = { proxyDeployment: team, proxyService: team };
    const spec = { image: 'a', secrets, ...config, podTemplateSpec, resourceOverrides };
    const text = resource('MCPServer', 'whole', spec);
    expect(await applyAs('whole', text)).toMatchObject({ code: 0 });
  });

  it('check nothing for a resource without references', async () => {
    expect(await applyAs('writer', resource('MCPGroup', 'tools', {}))).toMatchObject({ code: 0 });
    expect(await applyAs('writer', resource('MCPServer', 'plain', { image: 'a' }))).toMatchObject({ code: 0 });
  });

  it('have expressions that the API server accepts without a warning', async () => {
    const { stdout } = await cluster.kubectl(['get', 'validatingadmissionpolicies', '-o', 'json']);
    const { items } = JSON.parse(stdout) as {
      items: { metadata: { name: string }; status: { typeChecking?: { expressionWarnings?: unknown[] } } }[];
    };
    const ours = items.filter(({ metadata }) => metadata.name.startsWith(release));
    expect(ours).toHaveLength(6);
    expect(ours.flatMap(({ status }) => status.typeChecking?.expressionWarnings ?? [])).toEqual([]);
  });
});
