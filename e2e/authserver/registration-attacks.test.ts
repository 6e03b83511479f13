import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { arrange, type Arrangement } from './arrangement.ts';
import { OAuthClient, postJson, register } from './oauth-client.ts';
import { describeOnEachStorage } from './storages.ts';

describe('the registration endpoint', () => {
  let setup: Arrangement;
  beforeAll(async () => {
    setup = await arrange({ authServer: { cimd: { enabled: true } } });
  });
  afterAll(() => setup.close());

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'https://user:secret@app.example/callback',
    'https://app.example/callback#fragment',
    'http://app.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://2130706433.example/callback',
    'not a url',
    '',
  ])('refuses the redirect URI %j', async (uri) => {
    const { status, body } = await register(setup.origin, { redirect_uris: [uri] });
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_redirect_uri' });
  });

  it('refuses a client with none, too many or too long redirect URIs', async () => {
    const many = Array.from({ length: 11 }, (_, nr) => `https://app.example/${nr}`);
    for (const redirect_uris of [
      undefined,
      [],
      many,
      [`https://app.example/${'x'.repeat(2_048)}`],
      'https://app.example',
    ]) {
      expect((await register(setup.origin, { redirect_uris })).status).toBe(400);
    }
  });

  it('refuses a body that is no JSON, no object, or too large', async () => {
    const url = `${setup.origin}/oauth/register`;
    for (const body of ['{', '[]', '1', 'null']) expect((await postJson(url, body)).status).toBe(400);
    const { status } = await postJson(url, {
      redirect_uris: ['https://app.example'],
      client_name: 'x'.repeat(100_000),
    });
    expect(status).toBe(413);
  });

  it('accepts registrations as real clients send them, and substitutes unsupported values', async () => {
    const uris = ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect', 'cursor://anysphere.cursor-mcp/oauth'];
    const { status, body } = await register(setup.origin, {
      redirect_uris: uris,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'token'],
      scope: 'openid profile mcp',
      application_type: 'native',
      software_id: 'x',
      jwks: { keys: [] },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      redirect_uris: uris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
    expect(body).not.toHaveProperty('client_secret');
  });
});

describe('the URL of a client metadata document', () => {
  let asked = 0;
  let server: Server;
  let setup: Arrangement;
  beforeAll(async () => {
    server = createServer((_request, response) => {
      asked += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    setup = await arrange({ authServer: { cimd: { enabled: true } } });
  });
  afterAll(async () => {
    await setup.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([
    ['loopback', (port: number) => `https://127.0.0.1:${port}/client.json`],
    ['loopback by name', (port: number) => `https://localhost:${port}/client.json`],
    ['loopback as mapped IPv6', (port: number) => `https://[::ffff:127.0.0.1]:${port}/client.json`],
    ['loopback in decimal', (port: number) => `https://2130706433:${port}/client.json`],
    ['plain http', (port: number) => `http://127.0.0.1:${port}/client.json`],
    ['a private address', () => 'https://10.0.0.1/client.json'],
    ['a link-local address', () => 'https://169.254.169.254/latest/meta-data/client.json'],
    ['a host without a path', () => 'https://app.example'],
  ])('gets an error page in time, without a redirect or a request, at %s', async (_name, urlOf) => {
    const before = asked;
    const begun = new OAuthClient(setup.origin, urlOf((server.address() as AddressInfo).port)).begin();
    const started = performance.now();
    const answer = await fetch(begun.url, { redirect: 'manual', signal: AbortSignal.timeout(60_000) });
    expect({ status: answer.status, location: answer.headers.get('location') }).toEqual({
      status: 400,
      location: null,
    });
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(asked).toBe(before);
  });

  it('appears as supported in the metadata only if it is enabled', async () => {
    const metadata = async (origin: string) =>
      (await (await fetch(`${origin}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
    const without = await arrange();
    expect((await metadata(setup.origin)).client_id_metadata_document_supported).toBe(true);
    expect(await metadata(without.origin)).not.toHaveProperty('client_id_metadata_document_supported');
    await without.close();
  });
});

describeOnEachStorage('a flood of registrations', (fixture) => {
  it('gets 429, and removes no client', async () => {
    const setup = await arrange({
      storage: fixture().fresh(),
      authServer: { limits: { registrations_per_minute: 5, clients: 100 } },
    });
    try {
      const client = await setup.client();
      const answers = await Promise.all(Array.from({ length: 30 }, () => register(setup.origin)));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
      const refused = answers.filter(({ status }) => status !== 201);
      for (const { status, headers } of refused) {
        expect(status).toBe(429);
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      }
      // Forwarding headers of an untrusted peer select no limit: its requests share one, ten times as high.
      const forwarded = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          postJson(
            `${setup.origin}/oauth/register`,
            { redirect_uris: ['https://app.example/callback'] },
            { 'x-forwarded-for': `203.0.113.${index}` },
          ),
        ),
      );
      const taken = forwarded.filter(({ status }) => status === 201).length;
      expect([taken > 0, taken <= 50]).toEqual([true, true]);
      expect(forwarded.filter(({ status }) => status === 429)).toHaveLength(60 - taken);
      expect((await client.login({ user: 'alice' })).access_token).toBeTruthy();
    } finally {
      await setup.close();
    }
  });

  it('gets 503 at the limit of clients, and existing clients continue', async () => {
    const setup = await arrange({
      storage: fixture().fresh(),
      authServer: { limits: { registrations_per_minute: 1_000, clients: 3 } },
    });
    try {
      const clients = [await setup.client(), await setup.client(), await setup.client()];
      const { status, body } = await register(setup.origin);
      expect({ status, error: body.error }).toEqual({ status: 503, error: 'temporarily_unavailable' });
      for (const client of clients) expect((await client.login({ user: 'alice' })).access_token).toBeTruthy();
    } finally {
      await setup.close();
    }
  });
});
