import { expect, it } from '@jest/globals';
import { NoBody, type Operation, type RawRequest, type Permission } from '../operation.ts';
import { type Sample, sampleOf, SAMPLES } from '../testdata/operation-samples.ts';
import { OPERATIONS } from './table.ts';

/** Returns a permission in the format of `kubectl auth can-i`, with the API group if it is not vmcp's. */
const told = ({ verb, resource, group, name }: Permission): string =>
  `${verb} ${resource}${group === undefined ? '' : `.${group || 'core'}`}${name === undefined ? '' : `/${name}`}`;

async function rightsFor(row: Operation, { params = {}, body }: Pick<Sample, 'params' | 'body'>): Promise<string[]> {
  const asked: string[] = [];
  const check: RawRequest['caller']['check'] = (permission) => {
    asked.push(told(permission));
    return Promise.resolve();
  };
  const caller = { name: 'somebody', check };
  await row.check({ params, query: {}, body, caller, signal: new AbortController().signal });
  return asked;
}

const [GROUPS, SERVERS] = ['list mcpgroups', 'list mcpservers'];

it('the table of samples has a row for each operation, with its method and path', () => {
  const rows = OPERATIONS.map(({ id, method, path }) => [id, `${method} ${path}`]);
  expect(Object.entries(SAMPLES).map(([id, { at }]) => [id, at])).toEqual(expect.arrayContaining(rows));
  expect(Object.keys(SAMPLES)).toHaveLength(rows.length);
});

it.each(OPERATIONS.map((row) => ({ row, id: row.id })))(
  'requires the permissions for all that it reads and writes: $id',
  async ({ row, id }) => {
    const sample = sampleOf(id);
    expect(await rightsFor(row, sample)).toEqual(sample.rights);
  },
);

const LOGIN = { issuer: 'https://id.example', client_id: 'me', client_secret_ref: 'theirs/key' };

it.each<[string, string, Pick<Sample, 'params' | 'body'>, string[]]>([
  [
    'the Secret of a registry’s login',
    'updateRegistry',
    { params: { name: 'default' }, body: { url: 'https://registry.example', auth: LOGIN } },
    ['update registries/default', 'get secrets.core/theirs'],
  ],
  [
    'groups that are named',
    'installSkill',
    { body: { name: 'ghcr.io/o/n', group: 'tools', clients: ['cursor'] } },
    ['create skills', 'update skills', GROUPS],
  ],
  [
    'the registry of an entry',
    'createWorkload',
    { body: { name: 'sample', image: 'x', registry_entry: 'x' } },
    ['create mcpservers/sample', 'get registries/default'],
  ],
  [
    'the objects that a registry lists',
    'getRegistry',
    { params: { name: 'cluster' } },
    ['get registries/cluster', SERVERS],
  ],
  ['those of its servers', 'listRegistryServers', { params: { name: 'cluster' } }, ['get registries/cluster', SERVERS]],
  [
    'one of them',
    'getRegistryServer',
    { params: { name: 'cluster', serverName: 'x' } },
    ['get registries/cluster', SERVERS],
  ],
])('requires the permissions for %s', async (_, id, sample, rights) => {
  const row = OPERATIONS.find((one) => one.id === id)!;
  expect(await rightsFor(row, sample)).toEqual(rights);
});

it.each(OPERATIONS.filter(({ body }) => body !== NoBody))(
  '$id checks one of its permissions before it reads a long body',
  async (row) => {
    const asked: string[] = [];
    const check = (permission: Permission) => Promise.resolve(void asked.push(told(permission)));
    const { params = {}, rights } = sampleOf(row.id);
    await row.checkFirst({ params, caller: { name: 'somebody', check } });
    const [first = ''] = asked;
    expect(rights.filter((right) => right.startsWith(first))).toHaveLength(1);
  },
);
