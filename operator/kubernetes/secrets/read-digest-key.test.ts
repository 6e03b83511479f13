import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { statusBody } from '../testdata/fake-api-server.ts';
import { ObjectServer } from '../testdata/object-server.ts';
import { readDigestKey } from './read-digest-key.ts';

const PATH = '/api/v1/namespaces/system/secrets/vmcp-operator-digest-key';

let server: ObjectServer;
beforeEach(async () => {
  server = await new ObjectServer().start();
});
afterEach(() => server.close());

const stored = (key: string) =>
  server.put(PATH, {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'vmcp-operator-digest-key', namespace: 'system' } },
    data: { key: Buffer.from(key).toString('base64') },
  });

it('readDigestKey creates a random key if there is none', async () => {
  const first = await readDigestKey(server.api(), 'system');
  expect(Buffer.from(first, 'base64url')).toHaveLength(32);
  server.remove(PATH);
  expect(await readDigestKey(server.api(), 'system')).not.toBe(first);
});

it('readDigestKey returns the key of another replica that was faster', async () => {
  stored('theirs');
  const none = { status: 404, body: statusBody(404, 'NotFound') };
  server.nextAnswers.push(none, { status: 409, body: statusBody(409, 'AlreadyExists') });
  expect(await readDigestKey(server.api(), 'system')).toBe('theirs');
});

it('readDigestKey does not replace an unreadable or empty key', async () => {
  stored('');
  await expect(readDigestKey(server.api(), 'system')).rejects.toThrow('delete it, and the operator makes another one');
  server.nextAnswers.push({ status: 500, body: statusBody(500, 'InternalError') });
  await expect(readDigestKey(server.api(), 'system')).rejects.toMatchObject({ status: 500 });
  expect(server.writes()).toEqual([]);
});
