import { expect, it } from '@jest/globals';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { configMapRecords } from './config-map-records.ts';
import { recordStoreContract } from './contract/record-store.contract.ts';
import { MOST_RECORDS } from './record-store.ts';

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
])('maps a rejection of a ConfigMap by the API server (%i) to its own problem', async (status, reason, code) => {
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

it('separates records of two API groups with the same name in one namespace', async () => {
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

it('limits the number of records, and lists all of them', async () => {
  const server = await new ObjectServer().start();
  const store = configMapRecords({ api: server.api(), namespace: 'team', apiGroup: DEFAULT_API_GROUP })('clients');
  await store.create('first', 1);
  const { metadata, ...record } = server.at(`${PATH}/vmcp.clients.first`)!;
  for (let n = 1; n < MOST_RECORDS; n += 1) {
    const annotations = { 'vmcp.dev/record-name': `r${n}` };
    server.put(`${PATH}/vmcp.clients.r${n}`, { ...record, metadata: { ...metadata, annotations } });
  }
  expect([(await store.names()).length, (await store.list()).length]).toEqual([MOST_RECORDS, MOST_RECORDS]);
  await expect(store.create('more', 1)).rejects.toMatchObject({ code: 'too_large' });
  expect(server.at(`${PATH}/vmcp.clients.more`)).toBeUndefined();
  await store.delete('r1');
  await store.create('more', 1);
  await server.close();
});

it('writes skill records while all can be listed; beyond that, reads, shortens and deletes each', async () => {
  const server = await new ObjectServer().start();
  const store = configMapRecords({ api: server.api(), namespace: 'team', apiGroup: DEFAULT_API_GROUP })('skills');
  const long = 'x'.repeat(800_000);
  await store.create('first', long);
  const { metadata, ...record } = server.at(`${PATH}/vmcp.skills.first`)!;
  const put = (name: string) => {
    const annotations = { 'vmcp.dev/record-name': name };
    return server.put(`${PATH}/vmcp.skills.${name}`, { ...record, metadata: { ...metadata, name, annotations } });
  };
  for (let n = 1; n < 19; n += 1) put(`s${n}`);
  const { version } = (await store.get('s1'))!;
  const quotaExceeded = { code: 'too_large', message: expect.stringContaining('take some away first') };
  await expect(store.create('more', long)).rejects.toMatchObject(quotaExceeded);
  await expect(store.create('s2', long)).rejects.toMatchObject({ code: 'already_exists' });
  const grown = await store.replace('s1', long + 'x'.repeat(90_000), version);
  expect(await store.list()).toHaveLength(19);
  for (const name of ['s19', 's20', 's21']) put(name);
  await expect(store.list()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(store.replace('s2', `${long}x`, (await store.get('s2'))!.version)).rejects.toMatchObject(quotaExceeded);
  await store.replace('s1', 'short', grown);
  expect([(await store.names()).length, await store.delete('s21'), await store.delete('s20')]).toEqual([
    22,
    true,
    true,
  ]);
  expect(await store.list()).toHaveLength(20);
  await server.close();
});

it('ignores and keeps an unlabelled ConfigMap with the name of a record', async () => {
  const server = await new ObjectServer().start();
  const store = configMapRecords({ api: server.api(), namespace: 'team', apiGroup: DEFAULT_API_GROUP })('clients');
  await store.create('a', 1);
  const before = server.at(`${PATH}/vmcp.clients.a`)!;
  server.put(`${PATH}/vmcp.clients.a`, { ...before, metadata: { labels: { 'vmcp.dev/record': 'skills' } } });
  await expect(store.get('a')).rejects.toMatchObject({ code: 'store_damaged' });
  expect([await store.names(), server.at(`${PATH}/vmcp.clients.a`)]).toMatchObject([[], { data: before.data }]);
  await server.close();
});
