import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../local/run-vmcp.ts';
import { ownGroup } from './chart.ts';
import { isDone, releaseOf } from './release.ts';
import type { Finished } from './run-program.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const TENANT = 'tenant-of-team-a';

const pod = (spec: object) => ({ podTemplateSpec: { spec } });
const ours = (fields: object) => pod({ containers: [{ name: 'vmcp', ...fields }] });
const variable = (name: string, value: string) => ours({ env: [{ name, value }] });
const metadata = (fields: object) => ({ podTemplateSpec: { metadata: fields } });

/** Spec of a VirtualMCPServer besides its group, and the field in the refusal. */
const ATTACKS: [string, object, string][] = [
  [
    'another address for a name',
    pod({ hostAliases: [{ ip: '192.0.2.1', hostnames: ['api.github.com'] }] }),
    'podTemplateSpec.spec.hostAliases: may not be written in a template',
  ],
  [
    'another name server',
    pod({ dnsConfig: { nameservers: ['192.0.2.1'] } }),
    'podTemplateSpec.spec.dnsConfig: may not be written in a template',
  ],
  ['no DNS', pod({ dnsPolicy: 'None' }), 'podTemplateSpec.spec.dnsPolicy: may not be written in a template'],
  [
    'a proxy',
    variable('HTTPS_PROXY', 'http://192.0.2.1:3128'),
    'podTemplateSpec.spec.containers[vmcp].env[HTTPS_PROXY]',
  ],
  [
    'another authority',
    variable('NODE_EXTRA_CA_CERTS', '/tmp/ca.pem'),
    'podTemplateSpec.spec.containers[vmcp].env[NODE_EXTRA_CA_CERTS]',
  ],
  [
    'code in the process',
    variable('NODE_OPTIONS', '--import=/tmp/evil.mjs'),
    'podTemplateSpec.spec.containers[vmcp].env[NODE_OPTIONS]',
  ],
  ['another image', ours({ image: 'evil:1' }), 'podTemplateSpec.spec.containers[vmcp].image: may not be written'],
  ['a sidecar', pod({ containers: [{ name: 'side', image: 'evil:1' }] }), 'podTemplateSpec.spec.containers[side]'],
  [
    'another account',
    pod({ serviceAccountName: 'robot' }),
    'podTemplateSpec.spec.serviceAccountName: may not be written in a template',
  ],
  [
    'a token',
    pod({ automountServiceAccountToken: true }),
    'podTemplateSpec.spec.automountServiceAccountToken: may not be written in a template',
  ],
  [
    'a Secret as a volume',
    pod({ volumes: [{ name: 'stolen', secret: { secretName: 'team-b' } }] }),
    'podTemplateSpec.spec.volumes[stolen].secret: Secret "team-b" is not named by the fields of spec',
  ],
  [
    'a Secret as variables',
    ours({ envFrom: [{ secretRef: { name: 'team-b' } }] }),
    'podTemplateSpec.spec.containers[vmcp].envFrom[0]: Secret "team-b" is not named by the fields of spec',
  ],
  [
    'an annotation',
    metadata({ annotations: { 'sidecar.example/inject': 'true' } }),
    'podTemplateSpec.metadata.annotations[sidecar.example/inject]: is no annotation that the operator allows',
  ],
  [
    'a label of another team',
    metadata({ labels: { app: 'redis-of-team-b' } }),
    'may not create pods, and labels of pods decide which Services and NetworkPolicies take them',
  ],
  [
    'a Secret for pulling images',
    pod({ imagePullSecrets: [{ name: 'team-b' }] }),
    'may not get Secret team-b, which this VirtualMCPServer hands on',
  ],
];

const SERVICE = { proxyService: { annotations: { 'cloud.example/public': 'true' } } };

describeWithCluster('a tenant with use of its own group', (cluster) => {
  const apiGroup = ownGroup('tenant');
  let namespace: Namespace;
  const release = releaseOf(cluster, apiGroup, () => namespace.name);

  const server = (spec: object) => ({
    apiVersion: `${apiGroup}/v1alpha1`,
    kind: 'VirtualMCPServer',
    metadata: { name: 'team-a' },
    spec: { config: { groupRef: 'team-a' }, incomingAuth: { type: 'anonymous' }, ...spec },
  });
  const program = (spec: object) => ({
    ...server({}),
    kind: 'MCPServer',
    spec: { remoteUrl: 'https://mcp.example/mcp', groupRef: 'team-a', ...spec },
  });
  const tryAsTenant = (object: object): Promise<Finished> =>
    release.apply(JSON.stringify(object), '--dry-run=server', `--as=${TENANT}`);

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('tenant');
    isDone(await release.install());
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'team-a' } };
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
    const rules = [
      { apiGroups: [apiGroup], resources: ['virtualmcpservers', 'mcpservers'], verbs },
      { apiGroups: [apiGroup], resources: ['mcpgroups'], resourceNames: ['team-a'], verbs: ['use'] },
    ];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'team-a' };
    const subjects = [{ apiGroup: roleRef.apiGroup, kind: 'User', name: TENANT }];
    for (const object of [
      { ...role, kind: 'Role', rules },
      { ...role, kind: 'RoleBinding', roleRef, subjects },
      { ...server({}), kind: 'MCPGroup', spec: {} },
    ])
      isDone(await release.apply(JSON.stringify(object)));
    // The webhook refuses as soon as the operator has a certificate; the policies, a moment after their creation.
    const refused = [server(pod({ dnsPolicy: 'None' })), server(metadata({ labels: { app: 'a' } }))];
    for (const object of refused)
      await eventually(
        () => tryAsTenant(object),
        ({ code }) => code !== 0,
        30_000,
      );
  }, 150_000);

  afterAll(async () => {
    await release.run('uninstall', '--wait', '--timeout=60s');
    await release.removeDefinitions();
    await namespace.delete();
  });

  it('creates a server of its own group, also with a template that only places the pods', async () => {
    expect(await tryAsTenant(server({}))).toMatchObject({ code: 0 });
    const placed = {
      ...pod({ nodeSelector: { disk: 'ssd' } }).podTemplateSpec,
      metadata: { annotations: { 'prometheus.io/scrape': 'true' } },
    };
    expect(await tryAsTenant(server({ podTemplateSpec: placed }))).toMatchObject({ code: 0 });
    expect(await tryAsTenant(program({ proxyPort: 9000 }))).toMatchObject({ code: 0 });
  });

  it.each(ATTACKS)('may not write %s, and the refusal names the field', async (_what, spec, reason) => {
    const { code, stderr } = await tryAsTenant(server(spec));
    expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
    expect(stderr).not.toContain('may not use');
  });

  it('may not write an annotation of a Service, and the refusal names it', async () => {
    const { code, stderr } = await tryAsTenant(program({ proxyPort: 9000, resourceOverrides: SERVICE }));
    const field = 'resourceOverrides.proxyService.annotations[cloud.example/public]';
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${field}: is no annotation that the operator allows`)]);
  });

  it('may not create a server of another team’s group', async () => {
    const { code, stderr } = await tryAsTenant(server({ config: { groupRef: 'team-b' } }));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${TENANT} may not use MCPGroup team-b`)]);
  });
});
