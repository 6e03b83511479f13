import { hashId, newId } from '../ids.ts';
import type { BrowserRow, UserProfile } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { BROWSER_LIFESPAN, type BrowserCookie, type CookieValue } from './browser-cookie.ts';

export interface Browser {
  /** Hash that login rows hold as `browser`. A ticket or state of another browser is rejected. */
  readonly id: string;
  /** The request had no cookie, so no login in progress can belong to this browser. */
  readonly isNew: boolean;
  readonly cookie: CookieValue;
  readonly login: BrowserLogin | undefined;
  /** Value of a hidden form field. Only a page that was made for this browser contains it. */
  readonly csrf: string;
  readonly headers: CookieHeaders;
}

export interface BrowserLogin {
  readonly user: UserProfile;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly consents: readonly string[];
  readonly endsAt: number;
}

export type CookieHeaders = Readonly<Record<string, string>>;

export interface Browsers {
  /** Returns the browser of a request. @throws PageError when the cookie came twice */
  open(cookies: ReadonlyMap<string, readonly string[]>): Promise<Browser>;
  /** Sets a new cookie. Keeps the consents of the same user's former login. Call it after the user's links are stored. */
  logIn(browser: Browser, user: UserProfile, consent: string | undefined): Promise<CookieHeaders>;
  remember(browser: Browser, consent: string): Promise<void>;
  logOut(browser: Browser): Promise<CookieHeaders>;
}

interface BrowserSettings {
  readonly storage: AuthStorage;
  readonly cookie: BrowserCookie;
  readonly primary: string;
  readonly now: () => number;
}

const MAX_CONSENTS = 100;
/** Each browser login took a login at a provider. */
const MAX_BROWSERS = 100_000;

/** Creates the browser logins. They are stored, last 12 h, and hold in one browser. */
export function createBrowsers({ storage, cookie, primary, now }: BrowserSettings): Browsers {
  const write = (login: string, row: BrowserRow) =>
    storage.put('browser', hashId(login), row, { lifespan: row.ends_at - now(), capacity: MAX_BROWSERS });

  /** A browser login ends when the user's link at the primary provider is removed or marked. A later link does not restore it. */
  async function readLogin(login: string): Promise<BrowserLogin | undefined> {
    const row = await storage.get('browser', hashId(login));
    if (row === undefined || row.ends_at <= now()) return undefined;
    const link = await storage.getLink(row.user.sub, primary);
    if (link?.state !== 'linked' || link.linked_at > row.logged_in_at) return undefined;
    return { user: row.user, since: row.logged_in_at, consents: row.consents, endsAt: row.ends_at };
  }

  return {
    async open(cookies) {
      const sent = cookie.read(cookies);
      const value = sent ?? { browser: newId(), login: undefined };
      return {
        id: hashId(value.browser),
        isNew: sent === undefined,
        cookie: value,
        login: value.login === undefined ? undefined : await readLogin(value.login),
        csrf: hashId(`csrf|${value.browser}|${value.login ?? ''}`),
        headers: sent ? {} : { 'Set-Cookie': cookie.write(value) },
      };
    },

    async logIn(browser, user, consent) {
      const former = browser.login?.user.sub === user.sub ? browser.login.consents : [];
      const login = newId();
      const [since, consents] = [now(), withConsent(former, consent)];
      await write(login, { user, logged_in_at: since, consents, ends_at: since + BROWSER_LIFESPAN });
      if (browser.cookie.login !== undefined) await storage.remove('browser', hashId(browser.cookie.login));
      return { 'Set-Cookie': cookie.write({ browser: browser.cookie.browser, login }) };
    },

    async remember({ cookie: { login: id }, login }, consent) {
      if (id === undefined || login === undefined || login.consents.includes(consent)) return;
      const { user, since, consents, endsAt } = login;
      await write(id, { user, logged_in_at: since, consents: withConsent(consents, consent), ends_at: endsAt });
    },

    async logOut(browser) {
      if (browser.cookie.login !== undefined) await storage.remove('browser', hashId(browser.cookie.login));
      return { 'Set-Cookie': cookie.write({ browser: browser.cookie.browser, login: undefined }) };
    },
  };
}

function withConsent(consents: readonly string[], consent: string | undefined): readonly string[] {
  if (consent === undefined || consents.includes(consent)) return consents;
  return [...consents, consent].slice(-MAX_CONSENTS);
}
