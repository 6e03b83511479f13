import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { statusBody } from '#operator/kubernetes/testdata/fake-api-server';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { announceAuthority } from './announce-authority.ts';

const PATH = '/api/v1/namespaces/system/configmaps/vmcp-ca';
let server: ObjectServer;
beforeEach(async () => {
  server = await new ObjectServer().start();
});
afterEach(() => server.close());

const announce = (text: string) => announceAuthority(text, { api: server.api(), namespace: 'system', name: 'vmcp-ca' });

describe('announceAuthority', () => {
  it('writes a missing or outdated certificate authority, and nothing otherwise', async () => {
    await announce('one');
    await announce('one');
    await announce('two');
    expect(server.at(PATH)).toMatchObject({ data: { 'ca.crt': 'two' } });
    expect(server.writes()).toHaveLength(2);
  });

  it('accepts a concurrent write of another replica', async () => {
    server.nextAnswers.push(
      { status: 404, body: statusBody(404, 'NotFound', 'not there') },
      { status: 409, body: statusBody(409, 'AlreadyExists', 'there by now') },
    );
    await announce('one');
  });

  it('rejects if the API server rejects the write', async () => {
    server.nextAnswers.push(
      { status: 404, body: statusBody(404, 'NotFound', 'not there') },
      { status: 403, body: statusBody(403, 'Forbidden', 'not by you') },
    );
    await expect(announce('one')).rejects.toThrow('not by you');
  });
});
