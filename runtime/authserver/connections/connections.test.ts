import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { hashId } from '../ids.ts';
import { startLoginEndpoints, userNamed, type LoginEndpointServer, type Visit } from '../testdata/login-endpoints.ts';

const ALICE = userNamed('alice');
const BOB = userNamed('bob');

let server: LoginEndpointServer;
beforeEach(async () => {
  server = await startLoginEndpoints();
});
afterEach(() => server.close());

const show = (cookie?: string, query = '') => server.visit(server.urls.connections + query, { cookie });

/** Submits a form of the connections page. */
async function press(cookie: string, form: Readonly<Record<string, string>>) {
  const csrf = (await show(cookie)).hidden('csrf');
  return server.visit(server.urls.connections, { form: { csrf, ...form }, cookie });
}

async function linkUrl(sub: string, provider: string, ticket = 'T'.repeat(43)): Promise<string> {
  await server.storage.put('ticket', hashId(ticket), { sub, provider }, { lifespan: 600_000 });
  return `${server.urls.link}?ticket=${ticket}`;
}

/** Opens a link URL and submits its form. */
async function follow(url: string, cookie?: string) {
  const page = await server.visit(url, { cookie });
  const form = { csrf: page.hidden('csrf'), ticket: page.hidden('ticket') };
  return server.visit(server.urls.link, { form, cookie: cookie ?? page.cookie });
}

describe('connections page', () => {
  it('shows account, time and state of each link', async () => {
    const account = { ...ALICE, name: undefined, email: 'alice@github.example' };
    const { text } = await show(await server.logIn(ALICE, { okta: {}, github: { state: 'needs_login', account } }));
    expect(text).toContain('You are signed in as <bdi>alice</bdi> (<bdi>alice@example.com</bdi>)');
    expect(text).toContain('<time datetime="2027-01-15T08:00:00.000Z">15 January 2027 at 08:00 UTC</time>');
    expect(text).toContain('as <bdi>alice@github.example</bdi>');
    expect(text).toMatch(/Linked[\s\S]*Needs sign-in/);
  });

  it('offers to link an unlinked provider', async () => {
    const { text } = await show(await server.logIn(ALICE));
    expect(text).toContain('Not linked');
    expect(text).toContain('aria-label="Link github"');
  });

  it('names the provider that was just linked, and shows no text from the URL', async () => {
    const cookie = await server.logIn(ALICE);
    expect((await show(cookie, '?linked=okta')).text).toContain('okta is linked');
    expect((await show(cookie, '?linked=github')).text).not.toContain('is linked');
    expect((await show(cookie, '?linked=<b>evil')).text).not.toContain('evil');
  });

  it('mentions an application only as a possibility', async () => {
    const { text } = await show(await server.logIn(ALICE), '?linked=okta');
    expect(text).toContain('If an application sent you here');
  });

  it('shows no user without a browser login, and starts a login at the primary provider', async () => {
    const page = await show();
    expect(page.text).toContain('Sign in with okta');
    const form = { csrf: page.hidden('csrf'), action: 'sign-in' };
    await server.visit(server.urls.connections, { form, cookie: page.cookie });
    expect(server.steps).toMatchObject([
      { login: { purpose: 'link', remaining: ['okta'], user: undefined, sub: undefined, request: undefined } },
    ]);
  });

  it('starts a login from each of two tabs that got their own cookies at the same time', async () => {
    const [page, other] = [await show(), await show()];
    const form = { csrf: page.hidden('csrf'), action: 'sign-in' };
    const post = (cookie: string | undefined, site: string) =>
      server.visit(server.urls.connections, { form, cookie, headers: { 'sec-fetch-site': site } });
    for (const site of ['same-site', 'cross-site', 'none'])
      expect((await post(other.cookie, site)).text).toContain('out of date');
    expect((await post('none=1', 'same-origin')).text).toContain('out of date');
    expect(server.steps).toEqual([]);
    await post(other.cookie, 'same-origin');
    expect(server.steps).toMatchObject([{ login: { remaining: ['okta'] } }]);
    // After a login, such a page may show another user.
    const late = await post(await server.logIn(ALICE), 'same-origin');
    expect([late.status, server.steps.length]).toEqual([400, 1]);
  });

  it('limits sign-ins of an address as for an application', async () => {
    await server.close();
    server = await startLoginEndpoints({ config: { limits: { pending_logins: 10 } } });
    const page = await show();
    const signIn = () => {
      const form = { csrf: page.hidden('csrf'), action: 'sign-in' };
      return server.visit(server.urls.connections, { form, cookie: page.cookie });
    };
    expect([(await signIn()).status, (await signIn()).status]).toEqual([200, 429]);
    const form = { ticket: 'T'.repeat(43), csrf: page.hidden('csrf') };
    const url = await linkUrl(ALICE.sub, 'github');
    expect((await server.visit(server.urls.link, { form, cookie: page.cookie })).status).toBe(429);
    server.clock.time += 600_001;
    await linkUrl(ALICE.sub, 'github');
    expect((await follow(url, page.cookie)).status).toBe(200);
  });

  it('counts the signed-in applications', async () => {
    const cookie = await server.logIn(ALICE);
    expect((await show(cookie)).text).toContain('No application');
  });
});

describe('forms of the connections page', () => {
  it('link a provider for the signed-in user', async () => {
    await press(await server.logIn(ALICE), { action: 'link', provider: 'github' });
    expect(server.steps).toMatchObject([
      { login: { purpose: 'link', remaining: ['github'], user: ALICE, sub: ALICE.sub, request: undefined } },
    ]);
  });

  it('unlink an optional provider after a confirmation', async () => {
    const cookie = await server.logIn(ALICE, { okta: {}, github: {} });
    const question = await press(cookie, { action: 'unlink', provider: 'github' });
    expect(question.text).toContain('Unlink github?');
    expect(question.text).not.toContain('is required');
    expect(await server.storage.getLink(ALICE.sub, 'github')).toBeDefined();
    const { status, headers } = await press(cookie, { action: 'unlink', provider: 'github', confirmed: 'yes' });
    expect([status, headers.location]).toEqual([303, server.urls.connections]);
    expect(await server.storage.getLink(ALICE.sub, 'github')).toBeUndefined();
    expect(server.changed).toEqual([ALICE.sub]);
  });

  it('store no answers for pages that change nothing', async () => {
    const put = jest.spyOn(server.storage, 'put');
    const stranger = await show();
    const alice = await server.logIn(ALICE, { okta: {}, github: {} });
    const askers: [Visit, string | undefined][] = [
      [stranger, stranger.cookie],
      [await show(alice), alice],
    ];
    for (const [page, cookie] of askers) {
      for (const action of ['sign-out', 'unlink']) {
        for (let nr = 0; nr < 3; nr += 1) {
          const form = { csrf: page.hidden('csrf'), form: `form-${nr}`, action, provider: 'github' };
          expect((await server.visit(server.urls.connections, { form, cookie })).status).toBe(200);
        }
      }
    }
    expect(put.mock.calls.filter(([kind]) => kind === 'answer')).toEqual([]);
  });

  it('act once for a repeated page, and again for a new page', async () => {
    const cookie = await server.logIn(ALICE, { okta: {}, github: {} });
    const unlink = jest.spyOn(server.storage, 'unlink');
    const form = (page: Visit) => {
      const [csrf, mark] = [page.hidden('csrf'), page.hidden('form')];
      return { csrf, form: mark, action: 'unlink', provider: 'github', confirmed: 'yes' };
    };
    const [page, another] = [await show(cookie), await show(cookie)];
    const post = (shown: Visit) => server.visit(server.urls.connections, { form: form(shown), cookie });
    for (const { status } of [await post(page), await post(page)]) expect(status).toBe(303);
    expect(unlink).toHaveBeenCalledTimes(1);
    expect((await post(another)).status).toBe(303);
    expect(unlink).toHaveBeenCalledTimes(2);
  });

  it('explain the effect of unlinking a required provider', async () => {
    const { text } = await press(await server.logIn(ALICE), { action: 'unlink', provider: 'okta' });
    expect(text).toContain('okta is required');
    expect(text).toContain('sign in again');
    expect(text).toContain('signed out of this page');
  });

  it('end sessions, links and browser logins after a confirmation', async () => {
    const [cookie, elsewhere] = [await server.logIn(ALICE), await server.logIn(ALICE)];
    const other = await server.logIn(BOB);
    expect((await press(cookie, { action: 'sign-out' })).text).toContain('Sign out everywhere?');
    expect(await server.storage.linksOf(ALICE.sub)).not.toEqual({});
    const done = await press(cookie, { action: 'sign-out', confirmed: 'yes' });
    expect(done.text).toContain('You are signed out everywhere');
    expect(await server.storage.linksOf(ALICE.sub)).toEqual({});
    for (const left of [cookie, elsewhere, done.cookie]) expect((await show(left)).text).toContain('Sign in');
    expect((await show(other)).text).toContain('signed in as <bdi>bob</bdi>');
    expect(server.events.at(-1)).toMatchObject({ type: 'auth_token_revoked', subjects: { user_id: ALICE.sub } });
  });

  it.each([
    ['no ticket', () => Promise.resolve('')],
    ['the ticket of another browser', async () => (await show(await server.logIn(ALICE))).hidden('csrf')],
    ['the ticket from before the login', async () => (await show()).hidden('csrf')],
  ])('reject a request with %s', async (_, csrf) => {
    const cookie = await server.logIn(ALICE);
    for (const action of ['unlink', 'sign-out', 'link', 'sign-in']) {
      const form = { csrf: await csrf(), action, provider: 'okta', confirmed: 'yes' };
      expect((await server.visit(server.urls.connections, { form, cookie })).status).toBe(400);
    }
    expect(await server.storage.getLink(ALICE.sub, 'okta')).toBeDefined();
    expect(server.steps).toEqual([]);
  });

  it.each([
    ['an unknown action', { action: 'delete' }],
    ['no provider', { action: 'unlink', confirmed: 'yes' }],
    ['an unknown provider', { action: 'link', provider: 'evil' }],
  ])('reject a request with %s', async (_, form) => {
    expect((await press(await server.logIn(ALICE), form)).status).toBe(400);
    expect(server.steps).toEqual([]);
  });

  it('ask for a browser login first', async () => {
    const page = await show();
    const form = { csrf: page.hidden('csrf'), action: 'unlink', provider: 'okta', confirmed: 'yes' };
    const { text } = await server.visit(server.urls.connections, { form, cookie: page.cookie });
    expect(text).toContain('Sign in with okta');
  });
});

describe('link URL', () => {
  it('leads the user to the provider once, and allows the same browser a repetition for 5 s', async () => {
    const cookie = await server.logIn(ALICE);
    const url = await linkUrl(ALICE.sub, 'github');
    expect((await follow(url, cookie)).text).toBe('the next step');
    expect(server.steps).toMatchObject([
      { login: { purpose: 'link', remaining: ['github'], sub: ALICE.sub, user: ALICE } },
    ]);
    const page = await server.visit(url, { cookie });
    expect(page.text).toContain('Link your github account');
    const usedUp = { status: 400, text: expect.stringContaining('used already') };
    expect(await server.visit(url, { cookie: await server.logIn(ALICE) })).toMatchObject(usedUp);
    expect(await follow(url, await server.logIn(ALICE))).toMatchObject({ status: 400 });
    server.clock.time += 5_001;
    expect(await server.visit(url, { cookie })).toMatchObject(usedUp);
    expect(server.steps).toHaveLength(1);
  });

  it('stays valid when it is only opened', async () => {
    const cookie = await server.logIn(ALICE);
    const url = await linkUrl(ALICE.sub, 'github');
    for (let times = 0; times < 3; times += 1) expect((await server.visit(url, { cookie })).status).toBe(200);
    expect((await follow(url, cookie)).status).toBe(200);
  });

  it('acts once for concurrent requests, which all get its answer', async () => {
    const cookie = await server.logIn(ALICE);
    const page = await server.visit(await linkUrl(ALICE.sub, 'github'), { cookie });
    const form = { csrf: page.hidden('csrf'), ticket: page.hidden('ticket') };
    const all = Array.from({ length: 10 }, () => server.visit(server.urls.link, { form, cookie }));
    for (const { text } of await Promise.all(all)) expect(text).toBe('the next step');
    expect(server.steps).toHaveLength(1);
  });

  it('rejects another user and stays valid', async () => {
    const url = await linkUrl(ALICE.sub, 'github');
    const bob = await server.logIn(BOB);
    expect(await server.visit(url, { cookie: bob })).toMatchObject({
      status: 403,
      text: expect.stringContaining('somebody else'),
    });
    const form = { csrf: (await show(bob)).hidden('csrf'), ticket: 'T'.repeat(43) };
    expect((await server.visit(server.urls.link, { form, cookie: bob })).status).toBe(403);
    expect(server.steps).toEqual([]);
    expect((await follow(url, await server.logIn(ALICE))).status).toBe(200);
  });

  it('visits the primary provider first without a browser login, and requires its user', async () => {
    const url = await linkUrl(ALICE.sub, 'github');
    expect((await server.visit(url)).text).toContain('First you sign in at okta');
    await follow(url);
    expect(server.steps).toMatchObject([
      { login: { purpose: 'link', remaining: ['okta', 'github'], sub: ALICE.sub, user: undefined } },
    ]);
  });

  it('visits the primary provider once for a link to that provider', async () => {
    await follow(await linkUrl(ALICE.sub, 'okta'));
    expect(server.steps).toMatchObject([{ login: { remaining: ['okta'], sub: ALICE.sub } }]);
  });

  it('expires after ten minutes', async () => {
    const url = await linkUrl(ALICE.sub, 'github');
    server.clock.time += 600_001;
    expect((await server.visit(url)).status).toBe(400);
  });

  it('shows an error for a removed provider', async () => {
    expect((await server.visit(await linkUrl(ALICE.sub, 'gone'))).status).toBe(404);
  });

  it('rejects a form of another site', async () => {
    await linkUrl(ALICE.sub, 'github');
    const cookie = await server.logIn(ALICE);
    const form = { csrf: 'forged', ticket: 'T'.repeat(43) };
    expect((await server.visit(server.urls.link, { form, cookie })).status).toBe(400);
    expect(server.steps).toEqual([]);
  });
});
