import { expect, it } from '@jest/globals';
import { type Sample, SAMPLES } from '../../e2e/management/samples.ts';
import { NoBody, type Operation, type RawRequest, type Touch } from '../operation.ts';
import { OPERATIONS } from './table.ts';

/** Returns a permission in the format of `kubectl auth can-i`, with the API group if it is not vmcp's. */
const told = ({ verb, resource, group, name }: Touch): string =>
  `${verb} ${resource}${group === undefined ? '' : `.${group || 'core'}`}${name === undefined ? '' : `/${name}`}`;

/** Returns the path parameters of a sample. */
function paramsOf({ path }: Operation, sample: string): Record<string, string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/?]+)')}$`).exec(sample) ?? [];
  return Object.fromEntries(names.map((name, index) => [name, values[index + 1] ?? '']));
}

async function rightsFor(row: Operation, { path, body } = SAMPLES[row.id] ?? { path: '' }): Promise<string[]> {
  const asked: string[] = [];
  const check: RawRequest['caller']['check'] = (touch) => {
    asked.push(told(touch));
    return Promise.resolve();
  };
  const caller = { name: 'somebody', check };
  const params = paramsOf(row, path);
  await row.check({ params, query: {}, body, caller, signal: new AbortController().signal });
  return asked;
}

const [CLIENT, GROUP, SERVER] = ['clients/cursor', 'mcpgroups/sample', 'mcpservers/sample'];
const SECRET = 'secrets.core/vmcp-secrets';
const [GROUPS, SERVERS, ENDPOINTS] = ['list mcpgroups', 'list mcpservers', 'list virtualmcpservers'];
const REGISTERING = [`create ${CLIENT}`, `update ${CLIENT}`, GROUPS, ENDPOINTS];

/** Permissions by operationId. Bulk operations check more permissions once they know the workloads. */
const RIGHTS: Record<string, readonly string[]> = {
  getVersion: [],
  getOpenApi: [],
  registerClient: REGISTERING,
  registerClients: REGISTERING,
  listClients: ['list clients'],
  deleteClient: [`delete ${CLIENT}`],
  listRegistries: ['list registries'],
  updateRegistry: ['update registries/default'],
  getRegistry: ['get registries/default'],
  listRegistryServers: ['get registries/default'],
  getRegistryServer: ['get registries/default'],
  setUpSecrets: ['update secretproviders/default'],
  createSecret: ['update secretproviders/default', `create ${SECRET}`],
  updateSecret: ['update secretproviders/default', `update ${SECRET}`],
  listSecrets: ['get secretproviders/default'],
  deleteSecret: ['update secretproviders/default', `update ${SECRET}`],
  listSkills: ['list skills'],
  installSkill: ['create skills', 'update skills', 'list clients'],
  getSkill: ['get skills/sample'],
  uninstallSkill: ['delete skills/sample'],
  validateSkill: ['get skills'],
  createGroup: [`create ${GROUP}`, SERVERS],
  listGroups: [GROUPS, SERVERS],
  getGroup: [`get ${GROUP}`, SERVERS],
  editGroup: [`update ${GROUP}`, SERVERS],
  deleteGroup: [`delete ${GROUP}`, SERVERS, ENDPOINTS],
  createWorkload: [`create ${SERVER}`],
  listWorkloads: [SERVERS, ENDPOINTS],
  getWorkload: [`get ${SERVER}`],
  getWorkloadStatus: [`get ${SERVER}`, ENDPOINTS],
  getWorkloadLogs: [`get ${SERVER}`, 'list pods.core', 'get pods/log.core'],
  exportWorkload: [`get ${SERVER}`, 'list mcpexternalauthconfigs', 'list mcpoidcconfigs'],
  editWorkload: [`update ${SERVER}`],
  stopWorkload: [`update ${SERVER}`],
  startWorkload: [`update ${SERVER}`],
  restartWorkload: [`update ${SERVER}`],
  restartWorkloads: [SERVERS],
  deleteWorkload: [`delete ${SERVER}`],
  deleteWorkloads: [SERVERS],
  getOperation: [SERVERS],
};

it.each(OPERATIONS.map((row) => ({ row, id: row.id })))(
  'requires the permissions for all that it reads and writes: $id',
  async ({ row, id }) => {
    expect(await rightsFor(row)).toEqual(RIGHTS[id]);
  },
);

const LOGIN = { issuer: 'https://id.example', client_id: 'me', client_secret_ref: 'theirs/key' };

it.each<[string, string, Sample, string[]]>([
  [
    'the Secret of a registry’s login',
    'updateRegistry',
    { path: '/registry/default', body: { url: 'https://registry.example', auth: LOGIN } },
    ['update registries/default', 'get secrets.core/theirs'],
  ],
  [
    'groups that are named',
    'installSkill',
    { path: '/skills', body: { name: 'ghcr.io/o/n', group: 'tools', clients: ['cursor'] } },
    ['create skills', 'update skills', GROUPS],
  ],
  [
    'the registry of an entry',
    'createWorkload',
    { path: '/workloads', body: { name: 'sample', image: 'x', registry_entry: 'x' } },
    [`create ${SERVER}`, 'get registries/default'],
  ],
  [
    'the objects that a registry lists',
    'getRegistry',
    { path: '/registry/cluster' },
    ['get registries/cluster', SERVERS],
  ],
  [
    'those of its servers',
    'listRegistryServers',
    { path: '/registry/cluster/servers' },
    ['get registries/cluster', SERVERS],
  ],
  ['one of them', 'getRegistryServer', { path: '/registry/cluster/servers/x' }, ['get registries/cluster', SERVERS]],
])('requires the permissions for %s', async (_, id, sample, rights) => {
  const row = OPERATIONS.find((one) => one.id === id)!;
  expect(await rightsFor(row, sample)).toEqual(rights);
});

it.each(OPERATIONS.filter(({ body }) => body !== NoBody))(
  '$id checks one of its permissions before it reads a long body',
  async (row) => {
    const asked: string[] = [];
    const check = (touch: Touch) => Promise.resolve(void asked.push(told(touch)));
    await row.checkFirst({ params: paramsOf(row, SAMPLES[row.id]?.path ?? ''), caller: { name: 'somebody', check } });
    const [first = ''] = asked;
    expect(RIGHTS[row.id]?.filter((right) => right.startsWith(first))).toHaveLength(1);
  },
);
