import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type ClientsFixture, openClientsFixture, PROD, TOOLS } from '../clients/testdata/clients-fixture.ts';
import { ClientList, RegisteredClient } from '../records/client.ts';
import { servicesWith } from '../testdata/services-with.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../testdata/serve-operations.ts';
import { clientOperations } from './clients.ts';

let fixture: ClientsFixture;
let served: ServedOperations;
beforeEach(async () => {
  fixture = openClientsFixture();
  served = await serveOperations(clientOperations, { services: servicesWith({ clients: fixture.clients }) });
});
afterEach(async () => {
  await served.close();
  fixture.remove();
});

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(served.url + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
}

const refused = (status: number, code: string, detail: string) => ({
  status,
  body: expect.objectContaining({ code, detail: expect.stringContaining(detail) }),
});

describe('registerClient and registerClients', () => {
  it('answers 200 with the client and its configuration', async () => {
    const { status, body } = await ask('POST', '/clients', { name: 'cursor', groups: ['dev'] });
    expect([status, RegisteredClient.parse(body)]).toEqual([
      200,
      expect.objectContaining({ name: 'cursor', groups: ['dev'] }),
    ]);
    expect(JSON.parse(fixture.read('cursor') ?? '')).toEqual({ mcpServers: { tools: { type: 'http', url: TOOLS } } });
    const list = await ask('GET', '/clients');
    expect([list.status, ClientList.parse(list.body)]).toEqual([
      200,
      { clients: [{ name: 'cursor', groups: ['dev'] }] },
    ]);
    expect(served.changes.map(({ type, outcome }) => [type, outcome])).toEqual([
      ['management_client_registered', 'success'],
    ]);
  });

  it('answers 200 with all clients, each once', async () => {
    const { status, body } = await ask('POST', '/clients/register', {
      names: ['goose', 'codex', 'goose'],
      groups: ['dev', 'ops'],
    });
    expect(status).toBe(200);
    const registered = z.array(RegisteredClient).parse(body);
    expect(registered.map(({ name, configuration }) => [name, configuration.servers])).toEqual([
      ['goose', { tools: TOOLS, prod: PROD }],
      ['codex', { tools: TOOLS, prod: PROD }],
    ]);
  });

  it.each([
    ['an unknown client', { name: 'emacs' }, 'there is: claude-code'],
    ['an unknown group', { name: 'cursor', groups: ['nobody'] }, 'there is: dev, ops, empty'],
    ['a name that leaves the folder', { name: '../../etc/passwd' }, 'there is no client'],
    ['no name', { groups: [] }, 'name'],
    ['groups that are no list', { name: 'cursor', groups: 'dev' }, 'groups'],
    ['an unknown field', { name: 'cursor', group: 'dev' }, 'did you mean `groups`?'],
  ])('answers 400 for %s', async (_, body, detail) => {
    expect(await ask('POST', '/clients', body)).toEqual(refused(400, 'bad_request', detail));
  });

  it.each([
    ['no names', { names: [] }, 'names'],
    ['one unknown client among others', { names: ['cursor', 'emacs'] }, 'no client "emacs"'],
    ['too many names', { names: Array.from({ length: 51 }, () => 'cursor') }, 'names'],
  ])('answers 400 for %s and registers no client', async (_, body, detail) => {
    expect(await ask('POST', '/clients/register', body)).toEqual(refused(400, 'bad_request', detail));
    expect((await ask('GET', '/clients')).body).toEqual({ clients: [] });
  });

  it('answers 409 if an entry belongs to another program, unless forced', async () => {
    fixture.write('cursor', '{"mcpServers": {"tools": {"command": "x"}}}');
    expect(await ask('POST', '/clients', { name: 'cursor', groups: ['dev'] })).toEqual(
      refused(409, 'conflict', 'tools'),
    );
    expect((await ask('POST', '/clients?force=true', { name: 'cursor', groups: ['dev'] })).status).toBe(200);
  });
});

describe('deleteClient', () => {
  it('answers 204, and 404 for a client that is not registered', async () => {
    await ask('POST', '/clients', { name: 'cursor', groups: ['dev'] });
    expect(await ask('DELETE', '/clients/cursor')).toEqual({ status: 204, body: undefined });
    expect(JSON.parse(fixture.read('cursor') ?? '')).toEqual({});
    for (const name of ['cursor', 'emacs', '..%2F..%2Fetc%2Fpasswd'])
      expect(await ask('DELETE', `/clients/${name}`)).toEqual(refused(404, 'not_found', 'is registered'));
  });

  it('answers 409 for an unreadable file and keeps the registration', async () => {
    await ask('POST', '/clients', { name: 'cursor', groups: ['dev'] });
    fixture.write('cursor', '{');
    expect(await ask('DELETE', '/clients/cursor')).toEqual(refused(409, 'conflict', 'nothing was written'));
    expect((await ask('GET', '/clients')).body).toEqual({ clients: [{ name: 'cursor', groups: ['dev'] }] });
  });
});
