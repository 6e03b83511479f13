import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { REDIRECT, startLoginEndpoints, userNamed, type LoginEndpointServer } from '../testdata/login-endpoints.ts';
import { StorageUnavailable } from '../storage/storage.ts';

const ALICE = userNamed('alice');

let server: LoginEndpointServer;
let client: string;
beforeEach(async () => {
  server = await startLoginEndpoints();
  client = await server.register([REDIRECT, 'https://app.example.com/callback'], { client_name: 'App' });
});
afterEach(() => server.close());

const ask = (changes: Readonly<Record<string, string>> = {}, cookie?: string) =>
  server.visit(server.authorizeUrl(client, changes), { cookie });

/** Opens the consent page and allows the request. */
async function allow(changes: Readonly<Record<string, string>>, cookie?: string) {
  const page = await ask(changes, cookie);
  const form = { ticket: page.hidden('ticket'), decision: 'allow' };
  return server.visit(server.urls.consent, { form, cookie: cookie ?? page.cookie });
}

describe('authorization request with an unknown client or redirect URI', () => {
  it.each([
    ['another case', 'https://APP.example.com/callback'],
    ['a port', 'https://app.example.com:444/callback'],
    ['a slash', 'https://app.example.com/callback/'],
    ['a query', 'https://app.example.com/callback?x=1'],
    ['an at sign', 'https://app.example.com@evil.example/callback'],
    ['a fragment', 'https://app.example.com/callback#x'],
    ['steps upwards', 'https://app.example.com/x/../callback'],
    ['a decimal address', 'http://2130706433:33418/callback'],
    ['another site', 'https://evil.example/callback'],
  ])('shows a page and never redirects: %s', async (_, redirect_uri) => {
    const { status, headers, text } = await ask({ redirect_uri });
    expect([status, headers.location]).toEqual([400, undefined]);
    expect(headers['content-type']).toContain('text/html');
    expect(text).toContain('wrong place');
    expect(text).not.toContain('evil.example');
  });

  it('shows a page for a missing or repeated redirect URI', async () => {
    expect((await ask({ redirect_uri: '' })).status).toBe(400);
    const twice = `${server.authorizeUrl(client)}&redirect_uri=${encodeURIComponent(REDIRECT)}`;
    expect(await server.visit(twice)).toMatchObject({ status: 400, text: expect.stringContaining('came twice') });
  });

  it('tells the user of a forgotten client that it must register again', async () => {
    const { status, headers, text } = await server.visit(server.authorizeUrl('forgotten'));
    expect([status, headers.location]).toEqual([400, undefined]);
    expect(text).toContain('must register again');
  });

  it.each([
    ['without one', ''],
    ['of a huge one', 'x'.repeat(3000)],
  ])('shows a page for an invalid client id: %s', async (_, id) => {
    expect((await server.visit(server.authorizeUrl(id))).status).toBe(400);
  });

  it('rejects a repeated client id', async () => {
    expect((await server.visit(`${server.authorizeUrl(client)}&client_id=${client}`)).status).toBe(400);
  });

  it('accepts another port on loopback', async () => {
    expect((await ask({ redirect_uri: 'http://127.0.0.1:4444/callback' })).status).toBe(200);
  });
});

describe('invalid authorization request', () => {
  it.each([
    ['no response_type', { response_type: '' }, 'invalid_request'],
    ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
    ['another response_mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['a request object', { request: 'eyJ' }, 'invalid_request'],
    ['no PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no challenge method', { code_challenge_method: '' }, 'invalid_request'],
    ['a challenge that is none', { code_challenge: 'short' }, 'invalid_request'],
    ['another resource', { resource: 'https://mcp.example.com/mcp/' }, 'invalid_target'],
    ['a resource elsewhere', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ['a huge state', { state: 'x'.repeat(5000) }, 'invalid_request'],
    ['a huge scope', { scope: 'x'.repeat(5000) }, 'invalid_request'],
    ['prompt none beside login', { prompt: 'none login' }, 'invalid_request'],
    ['prompt none without a login', { prompt: 'none' }, 'login_required'],
  ])('redirects to the client with iss and state: %s', async (_, changes, error) => {
    const { status, headers, answer } = await ask(changes);
    expect(status).toBe(303);
    expect(headers.location).toMatch(/^http:\/\/127\.0\.0\.1:33418\/callback\?/);
    expect(Object.fromEntries(answer)).toEqual({
      error,
      error_description: expect.any(String),
      iss: server.urls.issuer,
      ...((changes as { state?: string }).state === undefined && { state: 'st-1' }),
    });
  });

  it.each(['response_type', 'state', 'scope', 'code_challenge', 'code_challenge_method', 'prompt'])(
    'redirects to the client when %s comes twice',
    async (name) => {
      const url = `${server.authorizeUrl(client, { scope: 'mcp', prompt: 'consent' })}&${name}=x`;
      expect((await server.visit(url)).answer.get('error')).toBe('invalid_request');
    },
  );

  it('redirects to the client when the resource comes twice', async () => {
    const url = `${server.authorizeUrl(client)}&resource=${encodeURIComponent(server.resource)}`;
    expect((await server.visit(url)).answer.get('error')).toBe('invalid_target');
  });

  it('keeps the query of a redirect URI unchanged', async () => {
    const withQuery = await server.register(['https://app.example.com/callback?a=1&b=%20']);
    const { headers } = await server.visit(
      server.authorizeUrl(withQuery, {
        redirect_uri: 'https://app.example.com/callback?a=1&b=%20',
        response_type: 'token',
      }),
    );
    expect(headers.location).toMatch(/^https:\/\/app\.example\.com\/callback\?a=1&b=%20&error=/);
  });

  it('answers 503, and no client error, while the storage is down', async () => {
    const down = await startLoginEndpoints({
      wrap: (storage) =>
        Object.assign(Object.create(storage) as typeof storage, {
          get: () => Promise.reject(new StorageUnavailable('down')),
        }),
    });
    const { status, headers } = await down.visit(down.authorizeUrl('whoever'));
    expect([status, headers.location]).toEqual([503, undefined]);
    await down.close();
  });
});

describe('authorization request', () => {
  it('shows the consent page before any other step', async () => {
    const { status, text, cookie } = await ask();
    expect(status).toBe(200);
    expect(text).toContain('wants to use mcp.example.com');
    expect(cookie).toBeDefined();
    expect(server.steps).toEqual([]);
    expect(server.events.at(-1)).toMatchObject({ type: 'auth_login_started', subjects: { client_name: 'App' } });
  });

  it('begins a separate login for each repetition', async () => {
    const [first, second] = [await ask(), await ask()];
    expect((await server.storage.sizes()).logins).toBe(2);
    for (const page of [second, first]) {
      const form = { ticket: page.hidden('ticket'), decision: 'allow' };
      expect((await server.visit(server.urls.consent, { form, cookie: page.cookie })).text).toBe('the next step');
    }
  });

  it('redirects a form to the same request by GET, which sends the cookie', async () => {
    const form = [...new URL(server.authorizeUrl(client)).searchParams];
    const posted = await server.visit(server.urls.authorize, { form });
    expect([posted.status, posted.cookie, posted.headers.location]).toEqual([
      303,
      undefined,
      server.authorizeUrl(client),
    ]);
  });

  it('rejects a very long form', async () => {
    const { status } = await server.visit(server.urls.authorize, { form: { state: 'x'.repeat(20_000) } });
    expect(status).toBe(413);
  });

  it.each([
    ['nothing', '', ['mcp', 'offline_access']],
    ['one', 'mcp', ['mcp']],
    ['unknown ones besides', 'openid profile mcp files', ['mcp']],
    ['unknown ones alone', 'openid profile', ['mcp', 'offline_access']],
  ])('grants supported scopes to a client that asks for %s', async (_, scope, granted) => {
    await allow({ scope });
    expect(server.steps.at(-1)?.login.request?.scope).toEqual(granted);
  });

  it.each([
    ['a scope that it registered with', 'mcp', '', ['mcp']],
    ['another scope than that', 'mcp', 'offline_access', ['mcp']],
    ['no scope', undefined, '', ['mcp', 'offline_access']],
    ['an empty scope', '', 'offline_access', ['offline_access']],
    ['unknown scopes alone', 'files', 'mcp', ['mcp']],
  ])('grants no scope beyond the registration of a client with %s', async (_, registered, scope, granted) => {
    client = await server.register([REDIRECT], registered === undefined ? {} : { scope: registered });
    await allow({ scope });
    expect(server.steps.at(-1)?.login.request?.scope).toEqual(granted);
  });

  it('grants the other scopes to a client that registered with openid alone', async () => {
    await server.close();
    server = await startLoginEndpoints({ config: { scopes_supported: ['openid', 'mcp'] } });
    client = await server.register([REDIRECT], { scope: 'openid profile' });
    await allow({ scope: 'openid profile' });
    expect(server.steps.at(-1)?.login.request?.scope).toEqual(['mcp']);
  });

  it('shows an error page when the browser sends two sign-in cookies, in either order', async () => {
    const cookie = await server.logIn(ALICE);
    const tossed = `${cookie.split('=')[0]}=${'A'.repeat(43)}`;
    for (const both of [`${cookie}; ${tossed}`, `${tossed}; ${cookie}`]) {
      const { status, text, headers } = await ask({}, both);
      expect([status, headers['set-cookie']]).toEqual([400, undefined]);
      expect(text).toContain('The sign-in cookie came twice');
    }
    expect((await ask({}, `x=1; ${cookie}; x=2`)).status).toBe(200);
  });

  it('asks for consent again after the metadata document of its client changes the name', async () => {
    const [id, redirect] = ['https://app.example.com/client.json', 'https://app.example.com/callback'];
    let client_name = 'App';
    const read = () => Promise.resolve({ client_id: id, client_name, redirect_uris: [redirect] });
    await server.close();
    server = await startLoginEndpoints({ documents: { read, close: () => undefined } });
    client = id;
    const cookie = await server.logIn(ALICE);
    const isAsked = async () => (await ask({ redirect_uri: redirect }, cookie)).text.includes('wants to use');
    await allow({ redirect_uri: redirect }, cookie);
    expect(await isAsked()).toBe(false);
    client_name = 'Bank';
    expect(await isAsked()).toBe(true);
    await allow({ redirect_uri: redirect }, cookie);
    expect(await isAsked()).toBe(false);
  });

  it('uses the only resource by default', async () => {
    await allow({ resource: '' });
    expect(server.steps.at(-1)?.login.request?.resource).toBe(server.resource);
  });

  it('limits requests by address', async () => {
    const small = await startLoginEndpoints({ config: { limits: { pending_logins: 20 } } });
    const id = await small.register([REDIRECT]);
    const answers = [];
    for (let index = 0; index < 3; index += 1) answers.push((await small.visit(small.authorizeUrl(id))).status);
    expect(answers).toEqual([200, 200, 429]);
    await small.close();
  });

  it.each([
    ['the /48 of an IPv6 address', (index: number) => `2001:db8:1:${index}::1`, '2001:db8:2::1'],
    ['the /24 of an IPv4 address', (index: number) => `203.0.113.${index}`, '203.0.114.1'],
  ])('limits requests by network: %s', async (_, addressOf, elsewhere) => {
    const small = await startLoginEndpoints({ config: { limits: { pending_logins: 20 } } });
    const id = await small.register([REDIRECT]);
    const from = async (address: string) =>
      (await small.visit(small.authorizeUrl(id), { headers: { 'x-forwarded-for': address } })).status;
    const answers = [];
    for (let index = 0; index < 5; index += 1) answers.push(await from(addressOf(index)));
    expect(answers).toEqual([200, 200, 200, 200, 429]);
    expect(await from(elsewhere)).toBe(200);
    await small.close();
  });

  it('does not count the excess requests of one address for its network', async () => {
    const small = await startLoginEndpoints({ config: { limits: { pending_logins: 20 } } });
    const id = await small.register([REDIRECT]);
    const from = async (address: string) =>
      (await small.visit(small.authorizeUrl(id), { headers: { 'x-forwarded-for': address } })).status;
    for (let index = 0; index < 10; index += 1) await from('203.0.113.1');
    expect(await from('203.0.113.2')).toBe(200);
    await small.close();
  });
});

describe('prompt', () => {
  const remembered = async () => {
    const cookie = await server.logIn(ALICE);
    await allow({}, cookie);
    server.steps.length = 0;
    return cookie;
  };

  it('absent: skips a remembered consent', async () => {
    const cookie = await remembered();
    expect((await ask({}, cookie)).text).toBe('the next step');
    expect(server.steps).toMatchObject([{ login: { user: ALICE, remaining: ['okta'] } }]);
  });

  it('consent: asks again', async () => {
    expect((await ask({ prompt: 'consent' }, await remembered())).text).toContain('wants to use');
  });

  it.each(['login', 'select_account'])('%s: asks again and requires a new sign-in', async (prompt) => {
    const cookie = await remembered();
    expect((await ask({ prompt }, cookie)).text).not.toContain('alice');
    await allow({ prompt }, cookie);
    expect(server.steps).toMatchObject([{ login: { user: undefined, force_login: true } }]);
  });

  it('none: continues without a page when consent and links exist', async () => {
    expect((await ask({ prompt: 'none' }, await remembered())).text).toBe('the next step');
  });

  it('none: returns interaction_required without a consent', async () => {
    expect((await ask({ prompt: 'none' }, await server.logIn(ALICE))).answer.get('error')).toBe('interaction_required');
  });

  it('none: returns interaction_required when a required provider is not linked', async () => {
    const chained = await startLoginEndpoints({
      config: {
        upstreams: ['okta', 'gitlab'].map((name) => ({
          type: 'oidc',
          name,
          oidc_config: { client_id: 'x', issuer_url: `https://${name}.example` },
        })),
      },
    });
    const id = await chained.register([REDIRECT]);
    const cookie = await chained.logIn(ALICE, { okta: {} });
    const page = await chained.visit(chained.authorizeUrl(id), { cookie });
    const form = { ticket: page.hidden('ticket'), decision: 'allow' };
    await chained.visit(chained.urls.consent, { form, cookie });
    const { answer } = await chained.visit(chained.authorizeUrl(id, { prompt: 'none' }), { cookie });
    expect(answer.get('error')).toBe('interaction_required');
    await chained.close();
  });
});

describe('authServerUrls', () => {
  it('ignores Host and forwarding headers', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    const page = await server.visit(server.authorizeUrl(client), { headers });
    expect(page.text).toContain(`action="${server.urls.consent}"`);
    expect(page.text).not.toContain('evil.example');
    const { answer } = await server.visit(server.authorizeUrl(client, { response_type: 'x' }), { headers });
    expect(answer.get('iss')).toBe(server.urls.issuer);
  });
});
