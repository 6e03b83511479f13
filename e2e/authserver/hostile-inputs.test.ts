import { request as rawRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { register, type OAuthClient } from './oauth-client.ts';

/** Returns the status of a request whose path is sent unchanged. */
function statusOf(origin: string, path: string, method = 'GET', headers: Record<string, string> = {}): Promise<number> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const sent = rawRequest({ hostname, port, path, method, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('an authorization server with malformed requests', () => {
  let setup: Arrangement;
  let client: OAuthClient;
  beforeAll(async () => {
    setup = await arrange({ authServer: { registration: { allowed_redirect_hosts: ['app.example'] } } });
    client = await setup.client();
  });
  afterAll(() => setup.close());

  it.each(['HTTPS://evil.example/callback', 'HttpS://evil.example/callback', 'hTTPS://evil.example:443/callback'])(
    'accepts no client whose host is not allowed, also with the redirect URI %s',
    async (uri) => {
      const { status, body } = await register(setup.origin, { redirect_uris: [uri] });
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_redirect_uri' });
    },
  );

  it.each(['/oauth/callback/%zz', '/oauth/callback/%', '/oauth/callback/%c0%ae'])(
    'answers an undecodable path with a client error: %s',
    async (path) => {
      const status = await statusOf(setup.origin, path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    },
  );

  it.each(['99999', '65536'])('refuses the invalid loopback port %s', async (port) => {
    const redirect_uri = `http://127.0.0.1:${port}/callback`;
    const page = await new Robot().open(client.begin({ redirect_uri }).url);
    expect(page.status).toBe(400);
  });

  it.each([
    ['//oauth/token', 'POST'],
    ['/oauth/token/', 'POST'],
    ['/OAUTH/token', 'POST'],
    ['/oauth/%74oken', 'POST'],
    ['/oauth/callback/okta/', 'GET'],
    ['/oauth/callback/okta/../../connections', 'GET'],
    ['/oauth/callback/constructor', 'GET'],
    ['/oauth/callback/__proto__', 'GET'],
    ['/connections/', 'GET'],
    ['/connections/link/', 'GET'],
  ])('answers 404 at %s', async (path, method) => {
    expect(await statusOf(setup.origin, path, method)).toBe(404);
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'TRACE'])('answers 405 to %s', async (method) => {
    for (const path of ['/oauth/authorize', '/oauth/token', '/oauth/consent', '/connections']) {
      expect(await statusOf(setup.origin, path, method)).toBe(405);
    }
  });

  it('answers 403 to a request with another host', async () => {
    const headers = { host: 'evil.example' };
    for (const path of ['/oauth/authorize', '/connections', '/.well-known/oauth-authorization-server']) {
      expect(await statusOf(setup.origin, path, 'GET', headers)).toBe(403);
    }
    expect(await statusOf(setup.origin, '/oauth/token', 'POST', headers)).toBe(403);
  });
});

describe('an invalid token, ticket or parameter', () => {
  let setup: Arrangement;
  let client: OAuthClient;
  beforeAll(async () => {
    setup = await arrange({ authServer: { cimd: { enabled: true } } });
    client = await setup.client();
  });
  afterAll(() => setup.close());

  /** Returns the requests that get a server error. */
  async function faults(requests: readonly (readonly [path: string, init?: RequestInit])[]): Promise<string[]> {
    const found: string[] = [];
    for (const [path, init] of requests) {
      const { status } = await fetch(setup.origin + path, { redirect: 'manual', ...init });
      if (status >= 500) found.push(`${status} ${path.slice(0, 200)} ${JSON.stringify([init]).slice(0, 300)}`);
    }
    return found;
  }
  const form = (path: string, values: Readonly<Record<string, string>>) =>
    [path, { method: 'POST', body: new URLSearchParams(values) }] as const;

  it('gets a client error at every endpoint, and so do damaged tokens', async () => {
    const { access_token: token, refresh_token: refresh } = await client.login({ user: 'alice' });
    const [head = '', payload = '', signature = ''] = token.split('.');
    const header = JSON.parse(Buffer.from(head, 'base64url').toString()) as Record<string, unknown>;
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const tokens = [
      ...HEADERS.map((more) => `${encode({ ...header, ...more })}.${payload}.${signature}`),
      ...[null, [], 'x', 1].flatMap((value) => [
        `${head}.${encode(value)}.${signature}`,
        `${encode(value)}.${payload}.${signature}`,
      ]),
      ...['00', '9999999999', '-1', '1e3', '0x1', ' 0'].map((gen) => refresh.replace(/\.0\./, `.${gen}.`)),
      ...ODD,
    ];
    const client_id = client.id;
    const requests = tokens.flatMap((text) => [
      form('/oauth/revoke', { token: text, client_id }),
      form('/oauth/token', { grant_type: 'refresh_token', refresh_token: text, client_id }),
      form('/oauth/token', { grant_type: 'authorization_code', code: text, code_verifier: text, client_id }),
      form('/oauth/consent', { ticket: text, decision: 'allow' }),
      form('/connections', { csrf: text, action: text }),
      form('/connections/link', { csrf: text, ticket: text }),
      [`/connections/link?${new URLSearchParams({ ticket: text }).toString()}`] as const,
      [`/oauth/callback/okta?${new URLSearchParams({ state: text, code: text }).toString()}`] as const,
    ]);
    expect(await faults(requests)).toEqual([]);
    const headers = (text: string) => ({ authorization: `Bearer ${text}`, 'content-type': 'application/json' });
    for (const text of tokens.filter((one) => /^[\x21-\x7e]+$/.test(one) && one.split('.').length !== 4)) {
      const answer = await fetch(setup.resource, { method: 'POST', body: PING, headers: headers(text) });
      expect({ text, status: answer.status }).toEqual({ text, status: 401 });
    }
    const log = setup.gateway.log();
    for (const secret of [token, refresh, refresh.split('.')[1] ?? token]) expect(log).not.toContain(secret);
  });

  it('gets a client error in each parameter of a login and each member of a registration', async () => {
    const requests: [string, RequestInit?][] = [];
    for (const name of PARAMETERS) {
      for (const value of ODD) {
        const url = new URL(client.begin().url);
        url.searchParams.set(name, value);
        requests.push([url.pathname + url.search], [url.pathname, { method: 'POST', body: url.searchParams }]);
      }
    }
    for (const name of MEMBERS) {
      for (const value of [...VALUES, ...ODD, ...ODD.map((one) => [one])]) {
        const body = JSON.stringify({ redirect_uris: ['https://app.example/x'], [name]: value });
        requests.push(['/oauth/register', { method: 'POST', body, headers: { 'content-type': 'application/json' } }]);
      }
    }
    expect(await faults(requests)).toEqual([]);
  });
});

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const HEADERS = [
  ...[{ crit: ['x'] }, { crit: ['b64'], b64: false }, { zip: 'DEF' }, { enc: 'A128GCM' }, { jwk: {} }],
  ...[{ alg: 5 }, { alg: 'HS256' }, { alg: 'none' }, { alg: '__proto__' }],
  ...[{ kid: 5 }, { kid: null }, { kid: undefined }, { typ: 5 }, { typ: null }, { typ: 'JWT' }],
];
const ODD = [
  ...['', ' ', '.', '..', 'a.b.c', 'a.b.c.d', 'a.b.c.d.e', '%', '%zz', '[]', '{}', '__proto__', 'constructor', 'none'],
  ...['\u0000', '\ud800', '\u202e', 'é', '\r\nX: y', 'x'.repeat(5_000), '5', 'a:', 'myapp:%zz'],
  ...['https://', 'https://a..b/', 'https://[::1]/x', 'https://[v1.x]/', 'https://localhost:1/x', 'https://xn--/'],
  ...[
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:99999',
    'http://[::1/x',
    'https://256.256.256.256/',
    'https://a:b',
  ],
];
const VALUES = [null, 5, true, {}, [], [null], [[]], [{}]];
const PARAMETERS = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'state', 'scope', 'code_challenge', 'resource'],
  ...['code_challenge_method', 'prompt', 'nonce', 'request', '__proto__'],
];
const MEMBERS = [
  'redirect_uris',
  'client_name',
  'scope',
  'application_type',
  'grant_types',
  '__proto__',
  'constructor',
];
