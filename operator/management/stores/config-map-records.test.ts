import { expect, it } from '@jest/globals';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { configMapRecords } from './config-map-records.ts';
import { recordStoreContract } from './contract/record-store.contract.ts';

const PATH = '/api/v1/namespaces/team/configmaps';

recordStoreContract('ConfigMaps of a server of objects', async () => {
  const server = await new ObjectServer().start();
  const [one, two] = [server.api(), server.api()];
  const where = { namespace: 'team', apiGroup: DEFAULT_API_GROUP };
  return {
    one: configMapRecords({ ...where, api: one }),
    two: configMapRecords({ ...where, api: two }),
    elsewhere: configMapRecords({ ...where, namespace: 'other', api: two }),
    damage: (name) => {
      server.put(`${PATH}/vmcp.clients.${name}`, { data: { 'record.json': '{"half' } });
    },
    close: () => server.close(),
  };
});

it.each([
  [403, 'Forbidden', 'forbidden'],
  [429, 'TooManyRequests', 'unavailable'],
  [500, 'InternalError', 'unavailable'],
  [422, 'Invalid', 'bad_request'],
])('what the API server says against a ConfigMap (%i) is a problem of its own', async (status, reason, code) => {
  const server = await new ObjectServer().start();
  const api = server.api();
  const store = configMapRecords({ api, namespace: 'team', apiGroup: DEFAULT_API_GROUP })('clients');
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: 'no', code: status };
  for (const call of [() => store.list(), () => store.get('a'), () => store.replace('a', 1, '1')]) {
    server.nextAnswers.push({ status, body });
    await expect(call()).rejects.toMatchObject({ code });
  }
  await server.close();
});

it('records of two API groups in one namespace are two, though they have one name', async () => {
  const server = await new ObjectServer().start();
  const api = server.api();
  const storeOf = (apiGroup: string) => configMapRecords({ api, namespace: 'team', apiGroup })('operations');
  const [usual, other] = [storeOf(DEFAULT_API_GROUP), storeOf('mcp.example.com')];
  await usual.create('one', 1);
  await other.create('one', 2);
  await usual.create('rest', 3);
  expect((await usual.list()).map(({ value }) => value)).toEqual([1, 3]);
  expect((await other.list()).map(({ value }) => value)).toEqual([2]);
  expect([await other.names(), await other.get('rest'), (await usual.get('one'))?.value]).toEqual([
    ['one'],
    undefined,
    1,
  ]);
  expect(await other.delete('rest')).toBe(false);
  expect(server.at(`${PATH}/vmcp.operations.one`)?.metadata.labels).toMatchObject({ 'vmcp.dev/record': 'operations' });
  await server.close();
});
