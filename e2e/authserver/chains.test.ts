import { afterEach, describe, expect, it } from '@jest/globals';
import type { Page } from '../robot/page.ts';
import { isRedirectOf, Robot } from '../robot/robot.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange, EXCHANGE_AUDIENCE, type Arrangement } from './arrangement.ts';
import { toolNames, whoIs } from './call-tool.ts';
import { claimsOf, tokensOf, type OAuthClient } from './oauth-client.ts';
import { accountAt, type ProviderSpec } from './providers.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', options: { refresh: 'none' } };
const SLACK: ProviderSpec = { name: 'slack', kind: 'odd', options: { answers: 'nested', refresh: 'rotates' } };
const THREE = [OKTA, GITHUB, SLACK];

afterEach(closeAll);

const start = async (...args: Parameters<typeof arrange>) => closing(await arrange(...args));

/** Returns the number of visits to the login page of each provider. */
const visits = ({ providers }: Arrangement) =>
  Object.values(providers).map(({ odd }) => odd?.of('/authorize').filter(({ method }) => method === 'GET').length);

/** Returns the owner of the token that each backend gets. */
async function accounts({ resource, providers }: Arrangement, accessToken: string) {
  const seen: Record<string, string | undefined> = {};
  for (const provider of Object.values(providers)) {
    seen[provider.name] = accountAt(provider, await whoIs(resource, accessToken, provider.name));
  }
  return seen;
}

/** Matches the login page of one provider during a login. */
const atProvider = (setup: Arrangement, name: string) => (page: Page) =>
  page.url.host === setup.providers[name]?.host && page.forms.length > 0;

/** Continues from a page to the redirect to the client, and redeems the code. */
async function finish(
  client: OAuthClient,
  robot: Robot,
  page: Page,
  begun: ReturnType<OAuthClient['begin']>,
  user: string,
) {
  const end = await robot.walk(page, { user }, { before: isRedirectOf(begun.url) });
  expect(end.next?.searchParams.get('state')).toBe(begun.state);
  return tokensOf(await client.redeem({ ...begun, code: end.next?.searchParams.get('code') ?? '' }));
}

describe('one login', () => {
  it.each([
    ['one provider', [{ name: 'okta', kind: 'real' }]],
    [
      'two providers',
      [
        { name: 'okta', kind: 'real' },
        { name: 'google', kind: 'real' },
      ],
    ],
    ['three providers', [{ name: 'okta', kind: 'real' }, { name: 'google', kind: 'real' }, SLACK]],
  ] satisfies [string, ProviderSpec[]][])(
    'at %s in turn gives each backend that user’s own token there, raw or exchanged',
    async (_name, providers) => {
      const setup = await start({ providers });
      const client = await setup.client();
      const { access_token: token } = await client.login({ user: 'alice' });
      const everywhere = Object.fromEntries(providers.map(({ name }) => [name, 'alice']));
      expect(await accounts(setup, token)).toEqual(everywhere);
      expect(await whoIs(setup.resource, token, 'exchanged')).toMatchObject({
        subject: 'alice',
        audience: [EXCHANGE_AUDIENCE],
        issuer: setup.providers.okta?.issuer,
      });
      expect(claimsOf(token)).toMatchObject({
        iss: setup.origin,
        aud: setup.resource,
        client_id: client.id,
        name: 'Alice Example',
        email: 'alice@example.test',
      });
      expect(claimsOf(token).sub).not.toContain('alice');
    },
  );

  it('shows no provider and no consent page if repeated in the same browser', async () => {
    const setup = await start({ providers: THREE });
    const [client, robot] = [await setup.client(), new Robot()];
    await client.login({ user: 'alice' }, { robot });
    const begun = client.begin();
    const page = await robot.open(begun.url, { before: isRedirectOf(begun.url) });
    expect(page.visited).toHaveLength(1);
    expect(page.next?.searchParams.get('code')).toMatch(/^\S+$/);
    expect(visits(setup)).toEqual([1, 1, 1]);
  });

  it('visits only the primary provider in another browser of a user with linked providers', async () => {
    const setup = await start({ providers: THREE });
    const client = await setup.client();
    await client.login({ user: 'alice' });
    const { access_token: token } = await client.login({ user: 'alice' });
    expect(visits(setup)).toEqual([2, 1, 1]);
    expect(await accounts(setup, token)).toEqual({ okta: 'alice', github: 'alice', slack: 'alice' });
  });

  it('visits the primary provider again with prompt=login, even if it remembers a user', async () => {
    const setup = await start({ providers: THREE });
    const [client, robot] = [await setup.client(), new Robot()];
    await client.login({ user: 'alice' }, { robot });
    const { access_token: token } = await client.login({ user: 'bob' }, { robot, parameters: { prompt: 'login' } });
    expect(visits(setup)[0]).toBe(2);
    expect(setup.providers.okta?.odd?.of('/authorize').at(-2)?.query.get('prompt')).toBe('login');
    expect(await accounts(setup, token)).toMatchObject({ okta: 'bob' });
  });

  it('answers prompt=none with login_required without a browser login, and with a code otherwise', async () => {
    const setup = await start({ providers: [OKTA, GITHUB] });
    const [client, robot] = [await setup.client(), new Robot()];
    const none = { robot, parameters: { prompt: 'none' } };
    const refused = await client.authorize({}, none);
    expect(refused.back.searchParams.get('error')).toBe('login_required');
    expect(refused.back.searchParams.get('iss')).toBe(setup.origin);
    await client.login({ user: 'alice' }, { robot });
    expect((await client.code({}, none)).code).toMatch(/^\S+$/);
  });
});

describe('a failed login', () => {
  const loginSteps = THREE.map(({ name }, index) => [index + 1, name] as const);

  it.each(loginSteps)(
    'ends with access_denied at a denial at provider %i of 3, and leaves nothing',
    async (_nr, name) => {
      const setup = await start({ providers: THREE });
      const [client, robot] = [await setup.client(), new Robot()];
      const { back, state } = await client.authorize({ user: 'alice', denies: atProvider(setup, name) }, { robot });
      expect(Object.fromEntries(back.searchParams)).toEqual({
        error: 'access_denied',
        error_description: expect.any(String),
        state,
        iss: setup.origin,
      });
      expect(back.href).not.toContain('secret-detail');
      // No provider counts as linked: the next login, in another browser, visits all of them.
      const before = visits(setup);
      await client.login({ user: 'alice' });
      expect(visits(setup)).toEqual(before.map((count = 0) => count + 1));
    },
  );

  it.each(loginSteps)(
    "ends with the server's own error text if provider %i of 3 fails at its token endpoint",
    async (_nr, name) => {
      const setup = await start({ providers: THREE });
      const client = await setup.client();
      setup.providers[name]?.odd?.setFault('token', 'fail');
      const { back, state } = await client.authorize({ user: 'alice' });
      expect(back.searchParams.get('error')).toMatch(/^(temporarily_unavailable|server_error)$/);
      expect(back.searchParams.get('state')).toBe(state);
      expect(back.searchParams.get('iss')).toBe(setup.origin);
      expect(back.href).not.toContain('secret-detail');
      setup.providers[name]?.odd?.setFault('token', undefined);
      const before = visits(setup);
      await client.login({ user: 'alice' });
      expect(visits(setup)).toEqual(before.map((count = 0) => count + 1));
    },
  );

  it.each(loginSteps)('lets the next login succeed if the user leaves it at provider %i of 3', async (_nr, name) => {
    const setup = await start({ providers: THREE });
    const [client, robot] = [await setup.client(), new Robot()];
    await robot.walk(client.begin().url, { user: 'alice' }, { at: atProvider(setup, name) });
    const { access_token: token } = await client.login({ user: 'alice' }, { robot });
    expect(await accounts(setup, token)).toEqual({ okta: 'alice', github: 'alice', slack: 'alice' });
  });

  it('ends with access_denied at the consent page, before any provider', async () => {
    const setup = await start({ providers: THREE });
    const client = await setup.client();
    const denies = ({ url }: Page) => url.origin === setup.origin;
    const { back } = await client.authorize({ user: 'alice', denies });
    expect(back.searchParams.get('error')).toBe('access_denied');
    expect(visits(setup)).toEqual([0, 0, 0]);
  });
});

describe('several parallel logins', () => {
  it('both finish in two tabs, with alternating steps', async () => {
    const setup = await start({ providers: THREE });
    const [client, robot] = [await setup.client(), new Robot()];
    const [first, second] = [client.begin(), client.begin()];
    const person = { user: 'alice' };
    const stop = (name: string) => ({ at: atProvider(setup, name) });
    let one = await robot.walk(first.url, person, stop('okta'));
    let two = await robot.walk(second.url, person, stop('okta'));
    one = await robot.walk(await robot.submit(one, { fields: { login: 'alice' } }), person, stop('github'));
    two = await robot.walk(await robot.submit(two, { fields: { login: 'alice' } }), person, stop('github'));
    const tokens = [
      await finish(client, robot, two, second, 'alice'),
      await finish(client, robot, one, first, 'alice'),
    ];
    for (const { access_token: token } of tokens) {
      expect(await accounts(setup, token)).toEqual({ okta: 'alice', github: 'alice', slack: 'alice' });
    }
    expect(tokens[0]?.refresh_token).not.toBe(tokens[1]?.refresh_token);
  });

  it('never mix two users in two browsers, with alternating steps', async () => {
    const setup = await start({ providers: THREE });
    const client = await setup.client();
    const people = ['alice', 'bob'].map((user) => ({ user, robot: new Robot(), begun: client.begin() }));
    const pages = new Map<string, Page>();
    for (const [name, next] of [
      ['okta', 'github'],
      ['github', 'slack'],
    ] as const) {
      for (const { user, robot, begun } of people) {
        const page = pages.get(user) ?? (await robot.walk(begun.url, { user }, { at: atProvider(setup, name) }));
        const on = await robot.submit(page, { fields: { login: user } });
        pages.set(user, await robot.walk(on, { user }, { at: atProvider(setup, next) }));
      }
    }
    for (const { user, robot, begun } of people.reverse()) {
      const { access_token: token } = await finish(client, robot, pages.get(user)!, begun, user);
      expect(await accounts(setup, token)).toEqual({ okta: user, github: user, slack: user });
    }
  });

  it('repeat no finished step after the back button, and continue in front', async () => {
    const setup = await start({ providers: THREE });
    const [client, robot] = [await setup.client(), new Robot()];
    const begun = client.begin();
    const okta = await robot.walk(begun.url, { user: 'alice' }, { at: atProvider(setup, 'okta') });
    const github = await robot.submit(okta, { fields: { login: 'alice' } });
    // Submits the form again after the back button, and then requests the callback itself.
    const asked = () => setup.providers.okta?.odd?.of('/token').length;
    const before = asked();
    const again = await robot.submit(okta, { fields: { login: 'alice' } });
    expect(again.url.href).toBe(github.url.href);
    const callback = github.visited.find(({ pathname }) => pathname === '/oauth/callback/okta')!;
    expect((await robot.open(callback)).url.href).toBe(github.url.href);
    expect(asked()).toBe(before);
    const { access_token: token } = await finish(client, robot, github, begun, 'alice');
    expect(await accounts(setup, token)).toEqual({ okta: 'alice', github: 'alice', slack: 'alice' });
  });

  it('both continue from one authorize URL that a client requested twice, because some clients prefetch it', async () => {
    const setup = await start({ providers: [OKTA] });
    const [client, robot] = [await setup.client(), new Robot()];
    const begun = client.begin();
    const fetched = await fetch(begun.url, { redirect: 'manual' });
    expect(fetched.status).toBe(200);
    const [one, two] = [await robot.open(begun.url), await robot.open(begun.url)];
    for (const page of [two, one]) await finish(client, robot, page, begun, 'alice');
  });
});

describe('an optional provider', () => {
  const optional = [OKTA, { ...GITHUB, required: false }];

  it("stays out of the login if the user declines it; a tool replaces its backend's tools until its link is used", async () => {
    const setup = await start({ providers: optional });
    const [client, robot] = [await setup.client(), new Robot()];
    const person = { user: 'alice', checks: { 'link=github': false } };
    const { access_token: token } = await client.login(person, { robot });
    expect(visits(setup)).toEqual([1, 0]);
    expect(await toolNames(setup.resource, token)).toEqual(['connect_github', 'okta_whoami']);
  });

  it('takes part in the login if the user wants it', async () => {
    const setup = await start({ providers: optional });
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    expect(await accounts(setup, token)).toEqual({ okta: 'alice', github: 'alice' });
  });

  it.each(['denied', 'down'])('does not prevent the login if it is %s', async (how) => {
    const setup = await start({ providers: optional });
    const client = await setup.client();
    if (how === 'down') setup.providers.github?.odd?.setFault('token', 'fail');
    const denies = how === 'denied' ? atProvider(setup, 'github') : () => false;
    const { access_token: token } = await client.login({ user: 'alice', denies });
    expect(await toolNames(setup.resource, token)).toEqual(['connect_github', 'okta_whoami']);
  });
});
