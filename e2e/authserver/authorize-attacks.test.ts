import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { send } from '../gateway/session-client.ts';
import type { Page } from '../robot/page.ts';
import { isRedirectOf, Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { OAuthClient, REDIRECT } from './oauth-client.ts';
import { setWallClock } from './wall-clock.ts';

const CHAIN = [
  { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } },
  { name: 'github', kind: 'odd', options: { refresh: 'none' } },
] as const;

let setup: Arrangement;
let client: OAuthClient;
beforeAll(async () => {
  setup = await arrange({ providers: CHAIN });
  client = await setup.client();
});
afterAll(() => setup.close());

let people = 0;
const someone = () => `person-${++people}`;
const open = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { redirect: 'manual', headers });
const at = (name: string) => (page: Page) => page.url.host === setup.providers[name]?.host && page.forms.length > 0;

describe('the authorization endpoint', () => {
  it.each([
    ['has no code_challenge', { code_challenge: undefined }],
    ['asks for PKCE plain', { code_challenge_method: 'plain' }],
    ['leaves the PKCE method out, which would mean plain', { code_challenge_method: undefined }],
    ['has a code_challenge that is no SHA-256', { code_challenge: 'short' }],
  ])('refuses at the client a request that %s, with iss and state', async (_name, parameters) => {
    const begun = client.begin(parameters);
    const back = new URL((await open(begun.url)).headers.get('location') ?? '');
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'invalid_request',
      error_description: expect.any(String),
      state: begun.state,
      iss: setup.origin,
    });
  });

  it.each([
    ['in its case', 'https://App.example/Callback'],
    ['by a port', 'https://app.example:8443/callback'],
    ['by a slash', 'https://app.example/callback/'],
    ['by a query', 'https://app.example/callback?a=1'],
    ['by userinfo', 'https://app.example@evil.example/callback'],
    ['by a fragment', 'https://app.example/callback#a'],
    ['by a path that goes up', 'https://app.example/x/../callback'],
    ['by an encoded slash', 'https://app.example/%2e%2e/callback'],
    ['by its host in decimal', 'http://2130706433/callback'],
    ['by localhost', 'http://localhost:1/callback'],
    ['by its scheme', 'http://app.example/callback'],
    ['by another host', 'https://evil.example/callback'],
    ['as it is not there', undefined],
  ])(
    'answers a redirect URI that differs %s with an error page, and never with a redirect',
    async (_name, redirectUri) => {
      const two = await setup.client({ redirect_uris: ['https://app.example/callback', REDIRECT] });
      const answer = await open(two.begin({ redirect_uri: redirectUri }).url);
      expect({ status: answer.status, location: answer.headers.get('location') }).toEqual({
        status: 400,
        location: null,
      });
      expect(answer.headers.get('content-type')).toContain('text/html');
      expect(await answer.text()).not.toContain('evil.example');
    },
  );

  it('accepts any port of a loopback redirect URI', async () => {
    const begun = client.begin({ redirect_uri: 'http://127.0.0.1:54321/callback' });
    const end = await new Robot().login(begun.url, { user: someone() });
    expect(end.origin).toBe('http://127.0.0.1:54321');
  });

  it('answers an unknown client with a page that says what to do, and no redirect', async () => {
    const answer = await open(new OAuthClient(setup.origin, 'forgotten').begin().url);
    expect({ status: answer.status, location: answer.headers.get('location') }).toEqual({
      status: 400,
      location: null,
    });
    expect(await answer.text()).toMatch(/<h1>/);
  });

  it('refuses at the client a request for a foreign or repeated resource', async () => {
    const { resource } = setup;
    for (const query of [
      `resource=${encodeURIComponent('https://elsewhere.example/mcp')}`,
      `resource=${resource}/`,
      `resource=${resource}&resource=${resource}`,
    ]) {
      const location = (await open(`${client.begin().url}&${query}`)).headers.get('location') ?? '';
      expect(new URL(location).searchParams.get('error')).toBe('invalid_target');
    }
  });

  it('sends requests with forged Host or forwarding headers to configured URLs only', async () => {
    const forwarding = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const documents = ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource/mcp'];
    for (const path of documents.map((name) => `/.well-known/${name}`)) {
      const { text } = await send(setup.origin + path, 'GET', forwarding);
      expect(text).toContain(setup.origin);
      expect(text).not.toContain('evil');
      expect((await send(setup.origin + path, 'GET', { ...forwarding, host: 'evil.example' })).text).not.toContain(
        'evil',
      );
    }
    const begun = client.begin();
    const robot = new Robot();
    const consent = await robot.open(begun.url);
    expect(consent.text).not.toContain('evil');
    const login = await robot.submit(consent);
    expect(login.url.searchParams.get('redirect_uri')).toBe(`${setup.origin}/oauth/callback/okta`);
  });
});

describe('the login of another person', () => {
  it('fails at its callback in another browser, and stays valid in its own', async () => {
    const [attacker, victim] = [new Robot(), new Robot()];
    const begun = client.begin();
    const before = { before: (url: URL) => url.pathname === '/oauth/callback/okta' };
    const loginStep = await attacker.walk(begun.url, { user: someone() }, before);
    for (const robot of [victim, new Robot()]) {
      await robot.open(`${setup.origin}/connections`);
      const page = await robot.open(loginStep.next!);
      expect(page.status).toBe(400);
      expect(page.text).toContain('another browser');
    }
    // The login continues in the attacker's own browser: the callback did not consume it.
    expect((await attacker.walk(loginStep, { user: someone() }, { at: at('github') })).url.host).toBe(
      setup.providers.github?.host,
    );
  });

  it.each([
    ['another site', 'https://evil.example/'],
    ['another server of this machine, to which the cookie is the same', 'http://127.0.0.1:9/'],
  ])('fails at its consent form if %s makes another browser send it', async (_from, url) => {
    const [attacker, victim] = [new Robot(), new Robot()];
    const consent = await attacker.open(client.begin().url);
    await victim.open(client.begin().url);
    const page = await victim.submit({ ...consent, url: new URL(url) });
    expect(page.status).toBe(400);
    expect(page.text).toContain('another browser');
    expect((await attacker.submit(consent)).url.host).toBe(setup.providers.okta?.host);
  });

  it('fails at its consent form in a browser without the cookie', async () => {
    const consent = await new Robot().open(client.begin().url);
    expect((await new Robot().submit(consent)).text).toContain('another browser');
  });

  it('fails if another person does its second step, and the first linked account stays', async () => {
    const [okta, github] = CHAIN;
    const clock = setWallClock();
    const ending = { ...github, options: { refresh: 'none', expiresIn: 1 } } as const;
    const own = await arrange({ providers: [okta, ending] });
    try {
      const other = await own.client();
      await other.login({ user: 'alice' });
      clock.forward(1_100);
      const robot = new Robot();
      const user = { [own.providers.okta!.host]: 'alice', [own.providers.github!.host]: 'mallory' };
      const begun = other.begin();
      const refused = await robot.walk(begun.url, { user }, { before: isRedirectOf(begun.url) });
      expect({ status: refused.status, host: refused.url.host }).toEqual({
        status: 403,
        host: new URL(own.origin).host,
      });
      const end = await new Robot().login(other.begin().url, { user: 'alice' });
      expect(end.searchParams.get('code')).toBeTruthy();
    } finally {
      jest.restoreAllMocks();
      await own.close();
    }
  });

  it('leaves nothing if its second step comes from another browser', async () => {
    const [alice, mallory] = [someone(), someone()];
    const [one, two] = [new Robot(), new Robot()];
    const begun = client.begin();
    const github = await one.walk(begun.url, { user: alice }, { at: at('github') });
    const before = (url: URL) => url.pathname === '/oauth/callback/github';
    const loginStep = await two.walk(github.url.href, { user: mallory }, { before });
    const page = await two.open(loginStep.next!);
    expect(page.status).toBe(400);
    const end = await one.walk(github, { user: alice }, { before: isRedirectOf(begun.url) });
    expect(end.next?.searchParams.get('code')).toBeTruthy();
  });
});

describe('the consent page', () => {
  it('appears for a new client, although providers and browser remember the user', async () => {
    const [robot, user] = [new Robot(), someone()];
    await client.login({ user }, { robot });
    const other = await setup.client();
    const page = await robot.open(other.begin().url);
    expect(page.status).toBe(200);
    expect(page.url.origin).toBe(setup.origin);
    expect(page.forms[0]?.buttons.map(({ value }) => value)).toEqual(expect.arrayContaining(['allow', 'deny']));
  });

  it('appears again for more scopes, and for another redirect URI', async () => {
    const [robot, user] = [new Robot(), someone()];
    const two = await setup.client({ redirect_uris: ['https://app.example/callback', REDIRECT] });
    await two.login({ user }, { robot, parameters: { scope: 'mcp', redirect_uri: 'https://app.example/callback' } });
    const asked = async (parameters: Readonly<Record<string, string>>) =>
      (await robot.open(two.begin(parameters).url, { before: () => true })).status === 200;
    expect(await asked({ scope: 'mcp', redirect_uri: 'https://app.example/callback' })).toBe(false);
    expect(await asked({ scope: 'mcp offline_access', redirect_uri: 'https://app.example/callback' })).toBe(true);
    expect(await asked({ scope: 'mcp', redirect_uri: REDIRECT })).toBe(true);
  });

  it('accepts no answer of a foreign page, with an invented ticket, or a second different answer', async () => {
    const robot = new Robot();
    const consent = await robot.open(client.begin().url);
    const forged = await fetch(`${setup.origin}/oauth/consent`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({
        decision: 'allow',
        ticket: consent.forms[0]?.fields.find(({ name }) => name === 'ticket')?.value ?? '',
      }),
      headers: { origin: 'https://evil.example' },
    });
    expect(forged.status).toBe(400);
    const madeUp = await robot.submit(consent, { fields: { ticket: 'A'.repeat(43) } });
    expect(madeUp.status).toBe(400);
    const first = await robot.submit(consent, {}, { before: (url) => url.host === setup.providers.okta?.host });
    expect(first.next?.host).toBe(setup.providers.okta?.host);
    const again = await robot.submit(consent, {}, { before: (url) => url.host === setup.providers.okta?.host });
    expect(again.next?.href).toBe(first.next?.href);
    const deny = consent.forms[0]?.buttons.find(({ value }) => value === 'deny');
    expect((await robot.submit(consent, { button: deny })).status).toBe(400);
  });

  it('forbids framing and caching, and sends no referrer', async () => {
    const { headers } = await open(client.begin().url);
    const csp = headers.get('content-security-policy') ?? '';
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).not.toContain('form-action');
    expect(csp).not.toContain('unsafe');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toContain('no-store');
  });

  it('shows the client’s name escaped, without control characters, and as unverified', async () => {
    const name = '<img src=x onerror=alert(1)>\u202Eevil\u2066"\'&';
    const named = await setup.client({ client_name: name });
    const { text } = await new Robot().open(named.begin().url);
    expect(text).not.toContain('<img src=x');
    expect(text).toContain('&lt;img src=x');
    expect(text).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/u);
    expect(text).toMatch(/unverified|not verified|not checked/i);
  });

  it('shows where the client gets its answer, and warns if that is this machine', async () => {
    const web = await setup.client({ redirect_uris: ['https://app.example/callback'] });
    expect((await new Robot().open(web.begin().url)).text).toContain('app.example');
    expect((await new Robot().open(client.begin().url)).text).toMatch(/127\.0\.0\.1/);
  });
});

describe('the cookie', () => {
  it('has one name, HttpOnly and Lax, and a new value with each login', async () => {
    const [robot, user] = [new Robot(), someone()];
    const { headers } = await robot.open(client.begin().url);
    const set = [headers['set-cookie'] ?? []].flat();
    expect(set).toEqual([expect.stringMatching(/^vmcp-[\w-]{8}=[\w-]{43}; Path=\/; .*HttpOnly; SameSite=Lax/)]);
    const ours = () => Object.entries(robot.cookies.at(setup.origin)).filter(([name]) => name.includes('vmcp'));
    const [before] = ours();
    const values = [];
    for (let times = 0; times < 2; times += 1) {
      await client.login({ user }, { robot, parameters: { prompt: 'login' } });
      const [after, ...others] = ours();
      expect([after?.[0], others]).toEqual([before?.[0], []]);
      expect(after?.[1]).toMatch(/^[\w-]{43}\.[\w-]{43}$/);
      values.push(after?.[1]);
    }
    expect(values[0]).not.toBe(values[1]);
  });
});
