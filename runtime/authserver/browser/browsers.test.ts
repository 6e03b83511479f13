import { beforeEach, describe, expect, it } from '@jest/globals';
import { hashId, newId } from '../ids.ts';
import { createMemoryStorage } from '../storage/memory.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { START, userNamed } from '../testdata/login-endpoints.ts';
import { BROWSER_LIFESPAN, browserCookie } from './browser-cookie.ts';
import { createBrowsers, type Browser, type Browsers } from './browsers.ts';

const ALICE = userNamed('alice');
const BOB = userNamed('bob');
const cookie = browserCookie('https://auth.example', 'https://auth.example/oauth/authorize');

const clock = { time: START };
let storage: AuthStorage;
let browsers: Browsers;
beforeEach(() => {
  clock.time = START;
  const now = () => clock.time;
  storage = createMemoryStorage({ now });
  browsers = createBrowsers({ storage, cookie, primary: 'okta', now });
});

/** Returns the cookies that a browser keeps from an answer. */
const cookiesOf = (header: string | undefined) =>
  new Map(header === undefined ? [] : [cookieOf(header.split(';', 1)[0]!.split('='))]);
const cookieOf = ([name = '', value = '']: string[]): [string, string[]] => [name, [value]];

async function link(user = ALICE, at = clock.time): Promise<void> {
  const row = {
    account: user,
    sealed: 'x',
    expires_at: undefined,
    linked_at: at,
    state: 'linked',
    version: 0,
  } as const;
  await storage.finishLogin({ sub: user.sub, links: { okta: row }, code: undefined, lifespan: 30 * 86_400_000 });
}

/** Returns a browser after a login. */
async function loggedIn(
  user = ALICE,
  consent?: string,
): Promise<{ cookies: ReadonlyMap<string, readonly string[]>; browser: Browser }> {
  const fresh = await browsers.open(new Map());
  await link(user);
  const headers = await browsers.logIn(fresh, user, consent);
  const cookies = cookiesOf(headers['Set-Cookie']);
  return { cookies, browser: await browsers.open(cookies) };
}

describe('browserCookie', () => {
  it('binds the cookie to the host, https and HTTP only', () => {
    const text = cookie.write({ browser: newId(), login: undefined });
    expect(text).toMatch(/^__Host-vmcp-[A-Za-z0-9_-]{8}=[A-Za-z0-9_-]{43}; /);
    expect(text.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax', 'Secure']);
  });

  it('omits prefix and Secure on loopback http, and sets Path=/ below a path', () => {
    const local = browserCookie('http://127.0.0.1:4483/auth', 'http://127.0.0.1:4483/auth/oauth/authorize');
    const text = local.write({ browser: newId(), login: newId() });
    expect(text).toMatch(/^vmcp-/);
    expect(text.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax']);
  });

  it('uses a different name for each server on one host', () => {
    const names = ['http://127.0.0.1:4483', 'http://127.0.0.1:4493', 'http://127.0.0.1:4483/b'].map(
      (issuer) => browserCookie(issuer, issuer).name,
    );
    expect(new Set(names).size).toBe(3);
  });

  it.each(['', 'x', 'x.y', `${newId()}.`, `${newId()}.${newId()}.${newId()}`, `${newId()}=`])(
    'ignores a cookie with the value %j',
    async (value) => {
      const browser = await browsers.open(new Map([[cookie.name, [value]]]));
      expect(browser.headers['Set-Cookie']).toBeDefined();
    },
  );
});

describe('createBrowsers', () => {
  it('explains the error when a browser sends its cookie twice, whatever the values', async () => {
    const value = newId();
    for (const values of [
      [value, newId()],
      [newId(), value],
      [value, value],
    ]) {
      const error: unknown = await browsers.open(new Map([[cookie.name, values]])).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        page: { status: 400, title: 'The sign-in cookie came twice', text: expect.stringContaining('auth.example') },
      });
    }
    const other = new Map([['other', ['a', 'b']], cookieOf([cookie.name, value])]);
    expect((await browsers.open(other)).isNew).toBe(false);
  });

  it('sets a cookie that the browser keeps, and stores nothing', async () => {
    const first = await browsers.open(new Map());
    const again = await browsers.open(cookiesOf(first.headers['Set-Cookie']));
    expect([again.id, again.csrf, again.headers]).toEqual([first.id, first.csrf, {}]);
    expect([first.isNew, again.isNew]).toEqual([true, false]);
    expect(again.login).toBeUndefined();
    expect(first.id).toBe(hashId(first.cookie.browser));
  });

  it('returns another browser for another cookie', async () => {
    const [one, two] = [await browsers.open(new Map()), await browsers.open(new Map())];
    expect(one.id).not.toBe(two.id);
    expect(one.csrf).not.toBe(two.csrf);
  });

  it('reveals no secret in the browser id or the form fields', async () => {
    const { browser } = await loggedIn();
    const { browser: secret, login } = browser.cookie;
    for (const shown of [browser.id, browser.csrf]) expect([secret, login, hashId(login!)]).not.toContain(shown);
  });
});

describe('browser login', () => {
  it('returns the user, the time of the login and the consents', async () => {
    const { browser } = await loggedIn(ALICE, 'a-consent');
    expect(browser.login).toEqual({
      user: ALICE,
      since: START,
      consents: ['a-consent'],
      endsAt: START + BROWSER_LIFESPAN,
    });
  });

  it('sets a new cookie without ending logins in other tabs', async () => {
    const { browser, cookies } = await loggedIn();
    const renewed = cookiesOf((await browsers.logIn(browser, ALICE, undefined))['Set-Cookie']);
    const after = await browsers.open(renewed);
    expect(after.id).toBe(browser.id);
    expect(after.cookie.login).not.toBe(browser.cookie.login);
    expect(after.csrf).not.toBe(browser.csrf);
    expect((await browsers.open(cookies)).login).toBeUndefined();
  });

  it('keeps only the consents of the same user', async () => {
    const { browser } = await loggedIn(ALICE, 'one');
    const same = cookiesOf((await browsers.logIn(browser, ALICE, 'two'))['Set-Cookie']);
    const alice = await browsers.open(same);
    expect(alice.login?.consents).toEqual(['one', 'two']);
    await link(BOB);
    const bob = await browsers.open(cookiesOf((await browsers.logIn(alice, BOB, 'three'))['Set-Cookie']));
    expect(bob.login).toMatchObject({ user: BOB, consents: ['three'] });
  });

  it('remembers the latest 100 consents, each once', async () => {
    const { cookies } = await loggedIn();
    for (let index = 0; index < 102; index += 1) await browsers.remember(await browsers.open(cookies), `c${index}`);
    await browsers.remember(await browsers.open(cookies), 'c101');
    const { login } = await browsers.open(cookies);
    expect([login?.consents.length, login?.consents[0], login?.consents.at(-1)]).toEqual([100, 'c2', 'c101']);
    expect(login?.endsAt).toBe(START + BROWSER_LIFESPAN);
  });

  it('ends after 12 h, however much it is used', async () => {
    const { cookies } = await loggedIn();
    clock.time += BROWSER_LIFESPAN - 1;
    const browser = await browsers.open(cookies);
    expect(browser.login?.user).toEqual(ALICE);
    await browsers.remember(browser, 'late');
    clock.time += 2;
    expect((await browsers.open(cookies)).login).toBeUndefined();
  });

  it('ends on log-out', async () => {
    const { browser, cookies } = await loggedIn();
    const left = cookiesOf((await browsers.logOut(browser))['Set-Cookie']);
    expect((await browsers.open(left)).id).toBe(browser.id);
    expect((await browsers.open(left)).login).toBeUndefined();
    expect((await browsers.open(cookies)).login).toBeUndefined();
  });

  it('ends in every browser when the user signs out everywhere, and stays ended after the next login', async () => {
    const [one, two] = [await loggedIn(), await loggedIn()];
    await storage.endUser(ALICE.sub);
    expect((await browsers.open(one.cookies)).login).toBeUndefined();
    clock.time += 1000;
    await loggedIn();
    expect((await browsers.open(one.cookies)).login).toBeUndefined();
    expect((await browsers.open(two.cookies)).login).toBeUndefined();
  });

  it('ends when the primary provider no longer knows the user', async () => {
    const { cookies } = await loggedIn();
    const row = await storage.getLink(ALICE.sub, 'okta');
    await storage.replaceLink(ALICE.sub, 'okta', row!.version, { ...row!, state: 'needs_login' });
    expect((await browsers.open(cookies)).login).toBeUndefined();
  });
});
