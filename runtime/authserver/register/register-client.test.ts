import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startLoginEndpoints, type LoginEndpointServer } from '../testdata/login-endpoints.ts';
import { addressBucket, networkBucket } from '#lib/connections/address-bucket';
import { createRegisterClient } from './register-client.ts';
import { CLIENT_LIFESPAN, createClients, NEW_CLIENT_LIFESPAN } from './find-client.ts';

const WEB = 'https://app.example.com/callback';

const FACTS = {
  method: 'POST',
  path: '/oauth/register',
  params: {},
  query: new URLSearchParams(),
  form: new URLSearchParams(),
  cookies: new Map<string, readonly string[]>(),
  headers: {},
};

let server: LoginEndpointServer;
beforeEach(async () => {
  server = await startLoginEndpoints({ config: { limits: { registrations_per_minute: 5, clients: 4 } } });
});
afterEach(() => server.close());

async function register(body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const { status, text } = await server.visit('/oauth/register', { json: body });
  return { status, body: JSON.parse(text) as Record<string, unknown> };
}

describe('client registration', () => {
  it('accepts a public client and returns the stored metadata only', async () => {
    const { status, body } = await register({
      redirect_uris: [WEB],
      client_name: 'App',
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      logo_uri: 'https://app.example.com/logo.png',
      contacts: ['x@example.com'],
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      client_id: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      client_id_issued_at: 1_800_000_000,
      client_name: 'App',
      redirect_uris: [WEB],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp offline_access',
      application_type: 'native',
    });
    expect(server.events).toMatchObject([{ type: 'auth_client_registered', subjects: { client_name: 'App' } }]);
  });

  it('forbids caching', async () => {
    const { headers } = await server.visit('/oauth/register', { json: { redirect_uris: [WEB] } });
    expect(headers['cache-control']).toBe('no-store');
  });

  it('accepts private scheme, https and loopback redirects of one client together', async () => {
    const redirect_uris = [
      'cursor://anysphere/callback',
      'https://www.cursor.com/cb',
      'http://localhost:8787/callback',
    ];
    expect((await register({ redirect_uris })).body).toMatchObject({ redirect_uris });
  });

  it('accepts two site and two loopback redirects together', async () => {
    const redirect_uris = [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'http://127.0.0.1:33418/',
    ];
    expect((await register({ redirect_uris, token_endpoint_auth_method: 'none' })).body).toMatchObject({
      redirect_uris,
    });
  });

  it.each([
    ['no token_endpoint_auth_method', {}],
    ['a secret', { token_endpoint_auth_method: 'client_secret_post' }],
    ['a signed assertion', { token_endpoint_auth_method: 'private_key_jwt' }],
  ])('substitutes a public client for one that asks for %s', async (_, more) => {
    const { status, body } = await register({ redirect_uris: [WEB], ...more });
    expect([status, body.token_endpoint_auth_method, body.client_secret]).toEqual([201, 'none', undefined]);
  });

  it('ignores unsupported metadata', async () => {
    const { status, body } = await register({
      redirect_uris: [WEB, WEB],
      grant_types: ['client_credentials', 'implicit'],
      response_types: ['token'],
      scope: 'mcp openid profile',
      application_type: 'spaceship',
      client_name: 42,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      redirect_uris: [WEB],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp',
    });
    expect(body.client_name ?? body.application_type).toBeUndefined();
  });

  it('shortens a long name', async () => {
    const { body } = await register({ redirect_uris: [WEB], client_name: 'x'.repeat(5000) });
    expect(body.client_name).toHaveLength(100);
  });

  it.each([
    ['javascript:', ['javascript:alert(1)']],
    ['data:', ['data:text/html,x']],
    ['user information', ['https://a@b.example/']],
    ['a fragment', ['https://b.example/#x']],
    ['plain http elsewhere', ['http://b.example/']],
    ['one bad among good ones', [WEB, 'http://b.example/']],
    ['none', []],
    ['eleven', Array.from({ length: 11 }, (_, index) => `${WEB}/${index}`)],
    ['a long one', [`${WEB}${'x'.repeat(2048)}`]],
    ['no list', 'https://b.example/'],
    ['no strings', [1]],
  ])('rejects redirects with %s', async (_, redirect_uris) => {
    const { status, body } = await register({ redirect_uris });
    expect([status, body.error]).toEqual([400, 'invalid_redirect_uri']);
    expect((await server.storage.sizes()).clients).toBe(0);
  });

  it.each([
    ['a list', []],
    ['a word', 'x'],
    ['null', null],
  ])('rejects %s instead of a document', async (_, body) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^invalid_/) } });
  });

  it('rejects a very large body', async () => {
    const { status } = await register({ redirect_uris: [WEB], client_name: 'x'.repeat(70_000) });
    expect(status).toBe(413);
  });

  it('limits registrations by address and minute, and sends Retry-After', async () => {
    server.clock.time += 1;
    const answers = [];
    for (let index = 0; index < 6; index += 1) answers.push(await register({ redirect_uris: ['bad'] }));
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 429]);
    const { headers } = await server.visit('/oauth/register', { json: { redirect_uris: [WEB] } });
    expect(headers['retry-after']).toBe('60');
    server.clock.time += 60_001;
    expect((await register({ redirect_uris: [WEB] })).status).toBe(201);
  });

  it('does not count registrations of a self-declared proxy against the limits of others', async () => {
    const headers = { forwarded: 'for=203.0.113.1' };
    const json = { redirect_uris: ['bad'] };
    const statuses = [];
    for (let index = 0; index < 60; index += 1)
      statuses.push((await server.visit('/oauth/register', { json, headers })).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    const other = { 'x-forwarded-for': '127.0.0.9' };
    expect((await server.visit('/oauth/register', { json, headers: other })).status).toBe(400);
    expect((await register({ redirect_uris: ['bad'] })).status).toBe(400);
  });

  it('limits all proxies of one network together', async () => {
    const handle = createRegisterClient({
      storage: server.storage,
      limits: { registrations_per_minute: 1, clients: 1_000 },
      scopesSupported: ['mcp'],
      allowedRedirectHosts: undefined,
      record: () => undefined,
      now: () => server.clock.time,
      unknownProxy: () => undefined,
    });
    const from = (remoteAddress: string) =>
      handle({ ...FACTS, json: { redirect_uris: [WEB] }, remoteAddress, isProxyAddress: true });
    for (let address = 1; address <= 10; address += 1)
      for (let nr = 0; nr < 10; nr += 1) expect((await from(`10.0.0.${address}`)).status).toBe(201);
    await expect(from('10.0.0.11')).rejects.toThrow('Too many clients register');
    expect((await from('10.0.1.1')).status).toBe(201);
  });

  it('allows ten times as many registrations behind an untrusted proxy, whatever its headers say', async () => {
    const through = async (headers: Readonly<Record<string, string>>) =>
      (await server.visit('/oauth/register', { json: { redirect_uris: ['bad'] }, headers })).status;
    for (let index = 0; index < 50; index += 1) {
      const header = index % 2 === 0 ? 'x-real-ip' : 'forwarded';
      expect(await through({ [header]: `203.0.113.${index}` })).toBe(400);
    }
    expect(await through({ forwarded: 'for=198.51.100.1' })).toBe(429);
  });

  it('limits registrations by network, as a site has many addresses', async () => {
    const from = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      return (await server.visit('/oauth/register', { json: { redirect_uris: ['bad'] }, headers })).status;
    };
    for (let index = 0; index < 50; index += 1) expect(await from(`2001:db8:1:${index}::1`)).toBe(400);
    expect(await from('2001:db8:1:50::1')).toBe(429);
    expect(await from('2001:db8:2::1')).toBe(400);
  });

  it('removes no client when the capacity is reached', async () => {
    const clients = [];
    for (let index = 0; index < 4; index += 1) clients.push(await server.register(['http://127.0.0.1:33418/callback']));
    expect(await register({ redirect_uris: [WEB] })).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
    });
    for (const client of clients) expect((await server.visit(server.authorizeUrl(client))).status).toBe(200);
  });

  it('forgets a client a day after registration, or 30 days after its last tokens, regardless of visits', async () => {
    const [used, unused] = [await server.register(['http://127.0.0.1/callback']), await server.register([WEB])];
    const seen = async () => [
      (await server.visit(server.authorizeUrl(used))).status,
      (await server.visit(server.authorizeUrl(unused, { redirect_uri: WEB }))).status,
    ];
    const { storage, clock } = server;
    await createClients({ storage, documents: undefined, registered: new Map(), now: () => clock.time }).use(used);
    clock.time += NEW_CLIENT_LIFESPAN - 1000;
    expect(await seen()).toEqual([200, 200]);
    clock.time += 2000;
    expect(await seen()).toEqual([200, 400]);
    clock.time += CLIENT_LIFESPAN - NEW_CLIENT_LIFESPAN - 2000;
    expect(await seen()).toEqual([200, 400]);
    clock.time += 2000;
    expect(await seen()).toEqual([400, 400]);
  });

  it('answers 404 when it is disabled', async () => {
    const closed = await startLoginEndpoints({ config: { registration: { enabled: false } } });
    expect((await closed.visit('/oauth/register', { json: { redirect_uris: [WEB] } })).status).toBe(404);
    await closed.close();
  });
});

describe('client registration with allowed redirect hosts', () => {
  it('keeps redirects at those hosts, on loopback or of apps, and rejects a client without any', async () => {
    const narrow = await startLoginEndpoints({
      config: { registration: { allowed_redirect_hosts: ['*.example.com'] } },
    });
    const send = async (redirect_uris: readonly string[]) =>
      JSON.parse((await narrow.visit('/oauth/register', { json: { redirect_uris } })).text) as Record<string, unknown>;
    expect(await send([WEB, 'https://evil.example/cb', 'http://localhost/cb', 'cursor://a/cb'])).toMatchObject({
      redirect_uris: [WEB, 'http://localhost/cb', 'cursor://a/cb'],
    });
    expect(await send(['https://evil.example/cb'])).toMatchObject({ error: 'invalid_redirect_uri' });
    await narrow.close();
  });
});

describe('addressBucket and networkBucket', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', '192.0.2.0/24'],
    ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:0db8::1', '2001:db8:0:0::/64', '2001:db8:0::/48'],
    ['::1', '0:0:0:0::/64', '0:0:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48'],
    [undefined, 'unknown', 'unknown'],
  ])('map %s to %s and %s', (address, bucket, network) => {
    expect([addressBucket(address), networkBucket(address)]).toEqual([bucket, network]);
  });
});
