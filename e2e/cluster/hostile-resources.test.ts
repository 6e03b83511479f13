import { expect, it } from '@jest/globals';
import { sumOf } from './operator-metrics.ts';
import { collectionOf, type Written } from './send-manifests.ts';
import { backend, condition, group, secret, server } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const levels = (count: number) => JSON.parse('{"a":'.repeat(count) + '"x"' + '}'.repeat(count)) as object;
const chain = Array.from({ length: 2500 }, (_, at) => ({
  uid: { type: 'Group', id: `${at}` },
  attrs: {},
  parents: [{ type: 'Group', id: `${at + 1}` }],
}));
const policies = [
  `permit(principal, action, resource) when { ${Array<string>(450).fill('principal in Group::"a"').join(' || ')} };`,
];
const authz = (inline: object) => ({
  incomingAuth: {
    type: 'oidc',
    resourceUrl: 'https://mcp.example/mcp',
    oidcConfig: { type: 'inline', inline: { issuer: 'https://login.example' } },
    authzConfig: { type: 'inline', inline },
  },
});

describeWithCluster('the operator under hostile resources', (cluster) => {
  const stage = useStage(cluster, 'hostile');

  it.each<[string, object, string, RegExp]>([
    ['fields nested three thousand levels deep', { x: levels(3000) }, 'InvalidSpec', /unknown field `x`/],
    [
      'ten thousand fields that nobody knows',
      Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`field${at}`, at])),
      'InvalidSpec',
      /and more$/,
    ],
    [
      'three hundred thousand empty objects',
      { x: Array.from({ length: 300_000 }, () => ({})) },
      'InvalidSpec',
      /unknown field `x`/,
    ],
    ['a template three thousand levels deep', { podTemplateSpec: levels(3000) }, 'InvalidPodTemplate', /./],
    [
      'a template of ten thousand containers',
      { podTemplateSpec: { spec: { containers: Array.from({ length: 10_000 }, (_, at) => ({ name: `c${at}` })) } } },
      'InvalidPodTemplate',
      /more than 1000 items/,
    ],
    [
      'policies that take a minute',
      authz({ policies: Array(100).fill(policies[0]) }),
      'InvalidPolicy',
      /at most 131072 are read/,
    ],
    [
      'entities that Cedar has no stack for',
      authz({ entitiesJson: JSON.stringify(chain) }),
      'InvalidPolicy',
      /flatten/,
    ],
  ])(
    'stalls a resource with %s, and handles other resources at once',
    async (what, spec, reason, message) => {
      const name = `hostile-${what.length}`;
      await stage.apply(group('tools'), server(name, 'tools', spec));
      const status = await stage.status('VirtualMCPServer', name, (seen) => condition(seen, 'Stalled') !== undefined);
      expect(condition(status, 'Stalled')).toMatchObject({ reason, message: expect.stringMatching(message) });
      await stage.apply(backend(`fine-${what.length}`, { groupRef: 'absent', remoteUrl: 'https://mcp.example/mcp' }));
      const fine = await stage.status('MCPServer', `fine-${what.length}`, ({ conditions = [] }) =>
        conditions.some(({ reason }) => reason !== 'NotLookedAt'),
      );
      expect(fine.phase).toBeDefined();
      await stage.remove('VirtualMCPServer', name);
    },
    90_000,
  );

  const program = (name: string, spec: object) => backend(name, { image: 'registry.invalid/tool:1', ...spec });
  const template = (spec: object) => ({ podTemplateSpec: { spec } });
  const projected = { sources: [{ serviceAccountToken: { path: 'token' } }] };
  const NOT_OURS = { secret: { secretName: 'others' } };
  const pathRef = { name: '../other/x', key: 'key' };
  const variable = (ref: object) => ({ secrets: [{ ...ref, targetEnvName: 'X' }] });
  const header = (name: string, valueSecretRef: object): Written => ({
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'MCPExternalAuthConfig',
    metadata: { name },
    spec: { type: 'headerInjection', headerInjection: { headerName: 'X-Key', valueSecretRef } },
  });

  const stalls = async ({ kind, metadata: { name = '' } }: Written) => {
    const status = await stage.status(kind, name, (seen) => condition(seen, 'Stalled') !== undefined);
    return condition(status, 'Stalled');
  };
  const noPodsOf = async (name: string) => {
    for (const child of [`mcp-${name}`, `vmcp-${name}`])
      expect([child, await stage.get('Deployment', child)]).toEqual([child, undefined]);
  };

  it.each<[string, Written, string, RegExp]>([
    [
      'token-of-program',
      program('token-of-program', template({ volumes: [{ name: 'token', projected }] })),
      'PodTemplateNotAllowed',
      /volumes\[token\]\.projected\.serviceAccountToken: no token is mounted/,
    ],
    [
      'token-of-server',
      server('token-of-server', 'tools', template({ automountServiceAccountToken: true })),
      'PodTemplateNotAllowed',
      /automountServiceAccountToken: may not be written in a template/,
    ],
    [
      'secret-of-program',
      program('secret-of-program', template({ volumes: [{ name: 'stolen', ...NOT_OURS }] })),
      'PodTemplateNotAllowed',
      /Secret "others" is not named by the fields of spec/,
    ],
    [
      'secret-of-server',
      server('secret-of-server', 'tools', template({ volumes: [{ name: 'stolen', ...NOT_OURS }] })),
      'PodTemplateNotAllowed',
      /Secret "others" is not named by the fields of spec/,
    ],
    [
      'names-of-server',
      server('names-of-server', 'tools', template({ hostAliases: [{ ip: '192.0.2.1', hostnames: ['a.example'] }] })),
      'PodTemplateNotAllowed',
      /spec\.hostAliases: may not be written in a template/,
    ],
  ])('grants a template only the rights of its resource: %s', async (name, written, reason, message) => {
    await stage.apply(group('tools'), secret('others', { key: 'of-somebody-else' }), written);
    expect(await stalls(written)).toMatchObject({ reason, message: expect.stringMatching(message) });
    await noPodsOf(name);
    await stage.remove(written.kind, name);
  });

  it.each([
    ['MCPServer', program('path-in-program', variable(pathRef)), 'spec.secrets[0].name'],
    ['MCPExternalAuthConfig', header('path-in-header', pathRef), 'spec.headerInjection.valueSecretRef.name'],
  ])(
    'gets no path to another namespace as the Secret name of a %s, as the API server refuses it',
    async (_kind, written, field) => {
      const path = collectionOf(written, stage.namespace.name);
      const { status, body } = await cluster.apply(`${path}/${written.metadata.name ?? ''}`, written);
      expect([status, body.message]).toEqual([422, expect.stringContaining(`${field}: Invalid value: "../other/x"`)]);
    },
  );

  it('stalls a resource with a namespace beside a Secret name, and reads no Secret', async () => {
    const neighbour = await cluster.makeNamespace('neighbour');
    try {
      const key = secret('theirs', { key: 'value-of-the-neighbour' });
      await cluster.apply(`${collectionOf(key, neighbour.name)}/theirs`, key);
      const ref = { name: 'theirs', key: 'key', namespace: neighbour.name };
      const isReading = ({ verb, resource }: Record<string, string>) => verb === 'get' && resource === 'secrets';
      const readings = () => sumOf(stage.operator, 'vmcp_operator_api_requests_total', isReading);
      const before = await readings();
      for (const written of [program('in-program', variable(ref)), header('in-header', ref)]) {
        await stage.apply(written);
        const message = expect.stringContaining('unknown field `namespace`');
        expect(await stalls(written)).toMatchObject({ reason: 'InvalidSpec', message });
      }
      await noPodsOf('in-program');
      expect(await readings()).toBe(before);
    } finally {
      await neighbour.delete();
    }
  });

  it('refuses a template that uses the operator’s own service account', async () => {
    await stage.operator.stop();
    const env = { POD_NAMESPACE: stage.namespace.name };
    const operator = await startOperator(cluster, [stage.namespace.name], [], { env });
    try {
      const taken = template({ serviceAccountName: 'vmcp-operator' });
      for (const written of [program('account-of-program', taken), server('account-of-server', 'tools', taken)]) {
        await stage.apply(written);
        expect(await stalls(written)).toMatchObject({
          reason: 'PodTemplateNotAllowed',
          message: expect.stringContaining('spec.serviceAccountName: may not be written in a template'),
        });
        await noPodsOf(written.metadata.name ?? '');
      }
    } finally {
      await operator.stop();
      await stage.start();
    }
  });
});
