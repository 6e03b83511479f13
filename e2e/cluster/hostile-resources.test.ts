import { expect, it } from '@jest/globals';
import { backend, condition, group, server } from './stage.ts';
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

describeWithCluster('resources that are meant to break the operator', (cluster) => {
  const stage = useStage(cluster, 'hostile');

  it.each<[string, object, string, RegExp]>([
    ['fields nested three thousand levels deep', { x: levels(3000) }, 'InvalidSpec', /unknown field `x`/],
    [
      'ten thousand fields that nobody knows',
      Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`field${at}`, at])),
      'InvalidSpec',
      /and more$/,
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
    'stall for %s, and others are looked after at once',
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
});
