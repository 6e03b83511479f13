import { expect, it } from '@jest/globals';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { configMapRecords } from './config-map-records.ts';
import { recordStoreContract } from './contract/record-store.contract.ts';

const PATH = '/api/v1/namespaces/team/configmaps';

recordStoreContract('ConfigMaps of a server of objects', async () => {
  const server = await new ObjectServer().start();
  const [one, two] = [server.api(), server.api()];
  const where = { namespace: 'team' };
  return {
    one: configMapRecords({ ...where, api: one }),
    two: configMapRecords({ ...where, api: two }),
    elsewhere: configMapRecords({ ...where, namespace: 'other', api: two }),
    damage: (name) => {
      server.put(`${PATH}/vmcp.clients.${name}`, { data: { 'record.json': '{"half' } });
    },
    close: async () => {
      await one.close();
      await two.close();
      await server.close();
    },
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
  const store = configMapRecords({ api, namespace: 'team' })('clients');
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: 'no', code: status };
  for (const call of [() => store.list(), () => store.get('a'), () => store.replace('a', 1, '1')]) {
    server.nextAnswers.push({ status, body });
    await expect(call()).rejects.toMatchObject({ code });
  }
  await api.close();
  await server.close();
});
