import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { hashId } from '../ids.ts';
import {
  REDIRECT,
  startLoginEndpoints,
  userNamed,
  type LoginEndpointServer,
  type Visit,
} from '../testdata/login-endpoints.ts';

const ALICE = userNamed('alice');
const WEB = 'https://app.example.com/callback';

let server: LoginEndpointServer;
let client: string;
beforeEach(async () => {
  server = await startLoginEndpoints();
  client = await server.register([REDIRECT, WEB, 'myapp://callback'], { client_name: 'App' });
});
afterEach(() => server.close());

const ask = (changes: Readonly<Record<string, string>> = {}, cookie?: string) =>
  server.visit(server.authorizeUrl(client, changes), { cookie });

interface How {
  readonly cookie?: string | undefined;
  readonly link?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

function decide(page: Visit, decision: string, { cookie = page.cookie, link = [], headers = {} }: How = {}) {
  const form: [string, string][] = [
    ['ticket', page.hidden('ticket')],
    ['decision', decision],
  ];
  const chosen = link.map((name) => ['link', name] as const);
  return server.visit(server.urls.consent, { form: [...form, ...chosen], cookie, headers });
}

describe('consent page', () => {
  it('shows the client, the redirect URI, the scopes and the required accounts', async () => {
    const { text } = await ask();
    for (const part of [
      'App',
      'Name not verified',
      '127.0.0.1:33418',
      'a program',
      'on this device',
      'okta',
      'github',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toContain('in your name');
  });

  it('warns of loopback and apps, and not of sites', async () => {
    expect((await ask({ redirect_uri: WEB })).text).not.toContain('on this device');
    expect((await ask({ redirect_uri: WEB })).text).toContain('app.example.com');
    expect((await ask({ redirect_uri: 'myapp://callback' })).text).toContain('an app on this device');
  });

  it('escapes the name of a client, and removes invisible and bidirectional characters', async () => {
    const name = '<img src=x onerror=alert(1)>"\u202Egnp.exe\u2066\u200B\u0000';
    client = await server.register([REDIRECT], { client_name: name });
    const { text } = await ask();
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;gnp.exe');
    expect(text).not.toContain('<img');
    expect(text).not.toMatch(/[\u202E\u2066\u200B\u0000]/);
  });

  it('forbids frames, caches, scripts and referrers', async () => {
    const { headers } = await ask();
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; frame-ancestors 'none'$/,
    );
  });

  it('announces the next sign-ins as far as the links are known', async () => {
    await server.close();
    const [okta, partner] = ['okta', 'partner'].map((name) => ({
      type: 'oidc',
      name,
      oidc_config: { client_id: 'vmcp', issuer_url: `https://login.${name}.example` },
    }));
    server = await startLoginEndpoints({ config: { upstreams: [okta, partner] } });
    client = await server.register([REDIRECT]);
    const nextAt = (text: string) => text.match(/You are asked to sign in there[^<]*/g);
    expect(nextAt((await ask()).text)).toEqual([
      'You are asked to sign in there next',
      'You are asked to sign in there, unless it is already linked',
    ]);
    expect(nextAt((await ask({}, await server.logIn(ALICE))).text)).toEqual(['You are asked to sign in there next']);
  });

  it('shows the linked accounts under a browser login', async () => {
    const { text } = await ask({}, await server.logIn(ALICE, { okta: {}, github: { state: 'needs_login' } }));
    expect(text).toContain('You are signed in as <bdi>alice</bdi>');
    expect(text).toContain('Linked');
    expect(text).toContain('Needs sign-in');
  });
});

describe('consent', () => {
  it('starts the chain of providers', async () => {
    const page = await ask();
    expect((await decide(page, 'allow', { link: ['github'] })).text).toBe('the next step');
    expect(server.steps).toMatchObject([
      {
        login: { purpose: 'authorize', remaining: ['okta', 'github'], user: undefined, request: { client_id: client } },
      },
    ]);
    expect(server.events.at(-1)).toMatchObject({ type: 'auth_consent', outcome: 'success' });
  });

  it('leaves out optional providers that were not chosen, and ignores unknown ones', async () => {
    await decide(await ask(), 'allow', { link: ['evil', 'okta'] });
    expect(server.steps).toMatchObject([{ login: { remaining: ['okta'] } }]);
  });

  it('returns access_denied to the client with iss and state, and removes the login', async () => {
    const { status, answer, headers } = await decide(await ask(), 'deny');
    expect(status).toBe(303);
    expect(headers.location).toMatch(new RegExp(`^${REDIRECT}\\?`));
    expect(Object.fromEntries(answer)).toMatchObject({
      error: 'access_denied',
      state: 'st-1',
      iss: server.urls.issuer,
    });
    expect((await server.storage.sizes()).logins).toBe(0);
    expect(server.events.at(-1)).toMatchObject({ type: 'auth_consent', outcome: 'denied' });
  });

  it('acts once and repeats its answer for 30 s', async () => {
    const page = await ask();
    await decide(page, 'allow');
    expect((await decide(page, 'allow')).text).toBe('the next step');
    server.clock.time += 30_001;
    const { status, text } = await decide(page, 'allow');
    expect([status, text]).toEqual([400, expect.stringContaining('done already')]);
    expect(server.steps).toHaveLength(1);
  });

  it('acts once for concurrent requests, which all get its answer', async () => {
    const page = await ask();
    const answers = await Promise.all(Array.from({ length: 10 }, () => decide(page, 'allow')));
    expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 10 }, () => 'the next step'));
    expect(server.steps).toHaveLength(1);
  });

  it('repeats its answer only for the same decision in the same form', async () => {
    const page = await ask();
    const denied = await decide(page, 'deny');
    expect((await decide(page, 'deny')).headers.location).toBe(denied.headers.location);
    for (const [decision, link] of [
      ['allow', []],
      ['switch', []],
      ['deny', ['github']],
    ] as const)
      expect((await decide(page, decision, { link })).text).toContain('done already');
    expect(server.steps).toEqual([]);
  });

  it('shows one page for another account, even for a repeated request', async () => {
    const cookie = await server.logIn(ALICE);
    const page = await ask({}, cookie);
    const [first, second] = [await decide(page, 'switch', { cookie }), await decide(page, 'switch', { cookie })];
    expect(first.hidden('ticket')).not.toBe('');
    expect(second.hidden('ticket')).toBe(first.hidden('ticket'));
  });

  it('counts each switch to another account as a new login', async () => {
    await server.close();
    server = await startLoginEndpoints({ config: { limits: { pending_logins: 30 } } });
    client = await server.register([REDIRECT]);
    let page = await ask();
    const { cookie } = page;
    const statuses = [];
    for (let turn = 0; turn < 4; turn += 1) {
      page = await decide(page, 'switch', { cookie });
      statuses.push(page.status);
      if (page.status !== 200) break;
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('seals its answer in the storage', async () => {
    const page = await ask();
    const put = jest.spyOn(server.storage, 'put');
    const location = String((await decide(page, 'deny')).headers.location);
    const stored = put.mock.calls.filter(([kind]) => kind === 'answer');
    expect(stored).toHaveLength(1);
    expect(JSON.stringify(stored)).not.toContain(location.slice(0, 20));
  });

  it.each([
    ['another browser', async () => (await ask()).cookie],
    ['no cookie', () => Promise.resolve('none=1')],
    ['a login of another browser', () => server.logIn(userNamed('mallory'))],
  ])('rejects a form from %s and stays open', async (_, cookie) => {
    const page = await ask();
    const { status, text } = await decide(page, 'allow', { cookie: (await cookie()) ?? '' });
    expect([status, text]).toEqual([400, expect.stringContaining('another browser')]);
    expect(server.steps).toEqual([]);
    expect((await decide(page, 'allow')).text).toBe('the next step');
  });

  const SITE = 'sec-fetch-site';

  it('accepts its own page in a browser where another tab got another cookie at the same time', async () => {
    const [page, other] = [await ask(), await ask()];
    const headers = { [SITE]: 'same-origin' };
    expect((await decide(page, 'allow', { cookie: other.cookie, headers })).text).toBe('the next step');
    const kept = other.cookie?.split('=')[1] ?? '';
    expect(server.steps).toMatchObject([{ login: { browser: hashId(kept) }, browser: { id: hashId(kept) } }]);
    const again = await decide(page, 'allow', { cookie: other.cookie, headers });
    expect([again.text, server.steps.length]).toEqual(['the next step', 1]);
  });

  it.each([
    ['another page of this machine', async () => ({ cookie: (await ask()).cookie, headers: { [SITE]: 'same-site' } })],
    ['another site', async () => ({ cookie: (await ask()).cookie, headers: { [SITE]: 'cross-site' } })],
    ['nowhere', async () => ({ cookie: (await ask()).cookie, headers: { [SITE]: 'none' } })],
    [
      'a page of ours in a browser without the cookie',
      () => Promise.resolve({ cookie: 'none=1', headers: { [SITE]: 'same-origin' } }),
    ],
  ])('rejects a form that %s sends in another browser', async (_, how) => {
    const page = await ask();
    expect((await decide(page, 'allow', await how())).text).toContain('another browser');
    expect(server.steps).toEqual([]);
  });

  it.each([
    ['no ticket', ''],
    ['a forged ticket', 'A'.repeat(43)],
  ])('rejects a form with %s', async (_, ticket) => {
    const { cookie } = await ask();
    const { status } = await server.visit(server.urls.consent, { form: { ticket, decision: 'allow' }, cookie });
    expect(status).toBe(400);
  });

  it('rejects a form without a decision and stays open', async () => {
    const page = await ask();
    expect((await decide(page, 'perhaps')).status).toBe(400);
    expect((await decide(page, 'allow')).text).toBe('the next step');
  });

  it('expires after ten minutes', async () => {
    const page = await ask();
    server.clock.time += 600_001;
    expect((await decide(page, 'allow')).status).toBe(400);
  });

  it('shows the page again without a user for another account', async () => {
    const cookie = await server.logIn(ALICE);
    const again = await decide(await ask({}, cookie), 'switch', { cookie });
    expect(again.text).toContain('You will sign in with');
    await decide(again, 'allow', { cookie });
    expect(server.steps).toMatchObject([{ login: { user: undefined, force_login: true } }]);
  });

  it('asks again when the browser login has ended since the page was made', async () => {
    const cookie = await server.logIn(ALICE);
    const page = await ask({}, cookie);
    await server.storage.endUser(ALICE.sub);
    const again = await decide(page, 'allow', { cookie });
    expect(again.text).toContain('You will sign in with');
    expect(server.steps).toEqual([]);
  });
});

describe('remembered consent', () => {
  const allow = async (changes: Readonly<Record<string, string>>, cookie: string) =>
    decide(await ask(changes, cookie), 'allow', { cookie });
  const isAsked = async (changes: Readonly<Record<string, string>>, cookie: string) =>
    (await ask(changes, cookie)).text.includes('wants to use');

  it('applies to the same client, redirect URI and scopes, with any port on loopback', async () => {
    const cookie = await server.logIn(ALICE);
    await allow({}, cookie);
    expect(await isAsked({}, cookie)).toBe(false);
    expect(await isAsked({ redirect_uri: 'http://127.0.0.1:9/callback' }, cookie)).toBe(false);
    expect(await isAsked({ redirect_uri: WEB }, cookie)).toBe(true);
    expect(await isAsked({ scope: 'mcp' }, cookie)).toBe(true);
  });

  it('does not apply to a new registration under the same name', async () => {
    const cookie = await server.logIn(ALICE);
    await allow({}, cookie);
    client = await server.register([REDIRECT], { client_name: 'App' });
    expect(await isAsked({}, cookie)).toBe(true);
  });

  it('does not apply in another browser, or after the browser login ends', async () => {
    const cookie = await server.logIn(ALICE);
    await allow({}, cookie);
    expect(await isAsked({}, await server.logIn(ALICE))).toBe(true);
    server.clock.time += 12 * 3_600_000 + 1;
    expect(await isAsked({}, cookie)).toBe(true);
  });

  it('requires a browser login', async () => {
    const page = await ask();
    await decide(page, 'allow');
    expect(await isAsked({}, page.cookie ?? '')).toBe(true);
  });
});
