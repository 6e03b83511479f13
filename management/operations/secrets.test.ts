import { readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import type { Permission } from '../operation.ts';
import { Problem } from '../problem.ts';
import { SecretDone, SecretKeys, SecretsSetUp } from '../records/secret.ts';
import { kubernetesSecrets } from '../secrets/kubernetes-secrets.ts';
import { openSecretsFixture, type SecretsFixture } from '../secrets/testdata/secrets-fixture.ts';
import { servicesWith } from '../testdata/services-with.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../testdata/serve-operations.ts';
import { secretOperations } from './secrets.ts';

const KEYS = '/secrets/default/keys';
const VALUE = 'hunter2-the-value';
let fixture: SecretsFixture;
let served: ServedOperations;

async function serve(environment?: NodeJS.ProcessEnv): Promise<void> {
  const local = environment === undefined ? fixture.withPassword() : fixture.open(environment);
  served = await serveOperations(secretOperations, { services: servicesWith({ secrets: local.in('default') }) });
}

beforeEach(async () => {
  fixture = openSecretsFixture();
  await serve();
});
afterEach(async () => {
  await served.close();
  fixture.remove();
});

interface Asked {
  status: number;
  body: { code?: string; detail?: string };
  text: string;
  headers: Headers;
}

async function ask(method: string, path: string, body?: unknown): Promise<Asked> {
  const answer = await fetch(served.url + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const { status, headers } = answer;
  return { status, headers, text, body: text === '' ? {} : (JSON.parse(text) as Asked['body']) };
}

const codes = ({ status, body }: Asked) => [status, body.code];
const shaped = <S extends z.ZodType>(schema: S, { body }: Asked) => schema.parse(body);
const setUp = (provider_type = 'encrypted', password?: string) => ask('POST', '/secrets', { provider_type, password });

describe('setUpSecrets', () => {
  it('answers 201 with the provider type and the location of the secrets', async () => {
    const answer = await setUp('encrypted', 'correct horse');
    expect([answer.status, shaped(SecretsSetUp, answer)]).toEqual([
      201,
      { provider_type: 'encrypted', message: expect.stringContaining(fixture.file) },
    ]);
    expect((await setUp('environment')).status).toBe(201);
    expect(served.changes.map(({ type, outcome }) => [type, outcome])).toEqual([
      ['management_secrets_provider_set_up', 'success'],
      ['management_secrets_provider_set_up', 'success'],
    ]);
  });

  it.each([
    ['a provider for clusters', { provider_type: 'kubernetes' }, 'unsupported_provider'],
    ['an unknown provider', { provider_type: 'vault' }, 'bad_request'],
    ['no provider', {}, 'bad_request'],
    ['a short password', { provider_type: 'encrypted', password: 'short' }, 'bad_request'],
    ['an unknown field', { provider_type: 'encrypted', pasword: 'correct horse' }, 'bad_request'],
    ['no JSON', '{"provider_type"', 'bad_request'],
  ])('answers 400 for %s', async (_, body, code) => {
    expect(codes(await ask('POST', '/secrets', body))).toEqual([400, code]);
  });

  it('answers 400 for a wrong password, and encrypts the file anew if the current password is known', async () => {
    await setUp('encrypted', 'correct horse');
    await ask('POST', KEYS, { key: 'A', value: VALUE });
    await served.close();
    await serve({});
    expect(codes(await setUp('encrypted', 'wrong password'))).toEqual([400, 'bad_request']);
    expect(codes(await ask('GET', KEYS))).toEqual([500, 'secrets_locked']);
    expect((await setUp('encrypted', 'correct horse')).status).toBe(201);
    expect((await setUp('encrypted', 'another horse')).status).toBe(201);
    expect(await fixture.withPassword('another horse').read('default', ['A'])).toEqual(new Map([['A', VALUE]]));
  });

  it('answers 500 for a damaged file', async () => {
    await setUp();
    truncateSync(fixture.file, 100);
    expect(codes(await setUp())).toEqual([500, 'store_damaged']);
  });
});

describe('the operations on secrets', () => {
  it('create with 201, update with 200, delete with 204, and never return a value', async () => {
    await setUp();
    const created = await ask('POST', KEYS, { key: 'GITHUB.token_1-x', value: VALUE });
    expect([created.status, shaped(SecretDone, created)]).toEqual([
      201,
      { key: 'GITHUB.token_1-x', message: expect.stringContaining('vmcp-secrets/GITHUB.token_1-x') },
    ]);
    const updated = await ask('PUT', `${KEYS}/GITHUB.token_1-x`, { value: `${VALUE}-2` });
    expect([updated.status, shaped(SecretDone, updated).key]).toEqual([200, 'GITHUB.token_1-x']);
    expect((await fixture.withPassword().read('default', ['GITHUB.token_1-x'])).get('GITHUB.token_1-x')).toBe(
      `${VALUE}-2`,
    );
    const listed = await ask('GET', KEYS);
    expect(shaped(SecretKeys, listed)).toEqual({ provider_type: 'encrypted', keys: [{ key: 'GITHUB.token_1-x' }] });
    const deleted = await ask('DELETE', `${KEYS}/GITHUB.token_1-x`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(shaped(SecretKeys, await ask('GET', KEYS)).keys).toEqual([]);
    const told = [created, updated, listed].map(({ text }) => text).join('');
    expect(told + JSON.stringify(served.changes)).not.toContain('hunter2');
    expect(served.changes.slice(1).map(({ type, params }) => [type, params])).toEqual([
      ['management_secret_created', {}],
      ['management_secret_updated', { key: 'GITHUB.token_1-x' }],
      ['management_secret_deleted', { key: 'GITHUB.token_1-x' }],
    ]);
  });

  it('list the keys in pages', async () => {
    await setUp();
    for (const key of ['C', 'A', 'B']) await ask('POST', KEYS, { key, value: VALUE });
    const first = shaped(SecretKeys, await ask('GET', `${KEYS}?limit=2`));
    expect(first.keys).toEqual([{ key: 'A' }, { key: 'B' }]);
    const rest = shaped(SecretKeys, await ask('GET', `${KEYS}?limit=2&cursor=${first.next_cursor ?? ''}`));
    expect([rest.keys, rest.next_cursor]).toEqual([[{ key: 'C' }], undefined]);
  });

  it('answer 404 without a provider and for a missing secret', async () => {
    expect(codes(await ask('GET', KEYS))).toEqual([404, 'not_found']);
    expect(codes(await ask('POST', KEYS, { key: 'A', value: VALUE }))).toEqual([404, 'not_found']);
    expect(codes(await ask('PUT', `${KEYS}/A`, { value: VALUE }))).toEqual([404, 'not_found']);
    expect(codes(await ask('DELETE', `${KEYS}/A`))).toEqual([404, 'not_found']);
    await setUp();
    expect(codes(await ask('PUT', `${KEYS}/A`, { value: VALUE }))).toEqual([404, 'not_found']);
    expect(codes(await ask('DELETE', `${KEYS}/A`))).toEqual([404, 'not_found']);
  });

  it('answer 409 for an existing key and keep its value', async () => {
    await setUp();
    await ask('POST', KEYS, { key: 'A', value: VALUE });
    expect(codes(await ask('POST', KEYS, { key: 'A', value: 'other' }))).toEqual([409, 'already_exists']);
    expect((await fixture.withPassword().read('default', ['A'])).get('A')).toBe(VALUE);
  });

  it('answer 405 with a read-only provider', async () => {
    await setUp('environment');
    for (const answer of [
      await ask('POST', KEYS, { key: 'A', value: VALUE }),
      await ask('PUT', `${KEYS}/A`, { value: VALUE }),
      await ask('DELETE', `${KEYS}/A`),
    ]) {
      expect(codes(answer)).toEqual([405, 'provider_read_only']);
      expect(answer.headers.get('allow')).toBe('GET');
    }
    expect((await ask('GET', KEYS)).status).toBe(200);
  });

  it('answer 500 with the name of a damaged or locked file', async () => {
    await setUp();
    await ask('POST', KEYS, { key: 'A', value: VALUE });
    const before = readFileSync(fixture.file);
    await served.close();
    await serve({ VMCP_SECRETS_PASSWORD: 'wrong password' });
    const locked = await ask('POST', KEYS, { key: 'B', value: VALUE });
    expect([...codes(locked), locked.body.detail]).toEqual([
      500,
      'secrets_locked',
      expect.stringContaining(fixture.file),
    ]);
    expect(codes(await ask('PUT', `${KEYS}/A`, { value: VALUE }))).toEqual([500, 'secrets_locked']);
    expect(readFileSync(fixture.file)).toEqual(before);
    truncateSync(fixture.file, before.length - 1);
    const damaged = await ask('PUT', `${KEYS}/A`, { value: VALUE });
    expect([...codes(damaged), damaged.body.detail]).toEqual([
      500,
      'store_damaged',
      expect.stringContaining(fixture.file),
    ]);
    expect(codes(await ask('POST', KEYS, { key: 'B', value: VALUE }))).toEqual([500, 'store_damaged']);
  });

  it.each([
    ['a key that leaves the folder', { key: '../../etc/passwd', value: VALUE }],
    ['a key of dots', { key: '..', value: VALUE }],
    ['an empty key', { key: '', value: VALUE }],
    ['a long key', { key: 'k'.repeat(254), value: VALUE }],
    ['no key', { value: VALUE }],
    ['no value', { key: 'A' }],
    ['an empty value', { key: 'A', value: '' }],
    ['a value that is no text', { key: 'A', value: { [VALUE]: [VALUE] } }],
    ['a value with NUL', { key: 'A', value: `${VALUE}\0` }],
    ['half a character', { key: 'A', value: `${VALUE}\ud800` }],
    ['a long value', { key: 'A', value: VALUE.repeat(5000) }],
    ['an unknown field', { key: 'A', value: VALUE, secret: VALUE }],
    ['a list', [VALUE]],
    ['no JSON', `{"key": "A", "value": "${VALUE}"`],
  ])('answer 400 for %s without repeating the value', async (_, body) => {
    await setUp();
    const answer = await ask('POST', KEYS, body);
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain('hunter2');
    expect(shaped(SecretKeys, await ask('GET', KEYS)).keys).toEqual([]);
  });

  it.each(['..%2F..%2Fetc%2Fpasswd', '%2e%2e', 'a%00b', 'a%2Fb', 'k'.repeat(254)])(
    'reject a key such as %s in the path',
    async (key) => {
      await setUp();
      expect((await ask('PUT', `${KEYS}/${key}`, { value: VALUE })).status).toBeGreaterThanOrEqual(400);
      expect((await ask('DELETE', `${KEYS}/${key}`)).status).toBeGreaterThanOrEqual(400);
    },
  );

  it('answer 405 to other methods', async () => {
    const answer = await ask('PATCH', `${KEYS}/A`, { value: VALUE });
    expect([...codes(answer), answer.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'PUT, DELETE']);
  });
});

it('stores no secret value in plain text in the state folder', async () => {
  await setUp();
  await ask('POST', KEYS, { key: 'A', value: VALUE });
  const names = ['provider.json', 'secrets.encrypted', '.lock'];
  for (const name of names) expect(readFileSync(join(fixture.file, '..', name), 'utf8')).not.toContain('hunter2');
});

describe('createSecret in a cluster', () => {
  let server: ObjectServer;
  let may: string[];
  let inCluster: ServedOperations;
  beforeEach(async () => {
    server = await new ObjectServer().start();
    const check = ({ verb, resource }: Permission) =>
      may.includes(`${verb} ${resource}`) ? Promise.resolve() : Promise.reject(new Problem('forbidden', verb));
    inCluster = await serveOperations(secretOperations, {
      services: servicesWith({
        secrets: kubernetesSecrets({ api: server.api(), namespace: 'team', apiGroup: 'vmcp.dev' }),
      }),
      authenticator: {
        admit: () => undefined,
        authenticate: () => Promise.resolve({ name: 'ann', in: () => ({ name: 'ann', check }) }),
        namespaceOf: () => 'team',
      },
    });
  });
  afterEach(async () => {
    await inCluster.close();
    await server.close();
  });
  const make = async (key: string) =>
    (
      await fetch(inCluster.url + KEYS, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key, value: VALUE }),
      })
    ).status;

  it('requires permission to update the Secret when the Secret exists', async () => {
    may = ['update secretproviders', 'create secrets'];
    expect([await make('A'), await make('B')]).toEqual([201, 403]);
    expect(Object.keys(server.at('/api/v1/namespaces/team/secrets/vmcp-secrets')?.data as object)).toEqual(['A']);
    may.push('update secrets');
    expect(await make('B')).toBe(201);
  });
});
