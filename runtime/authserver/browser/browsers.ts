import { hashId, newId } from '../ids.ts';
import type { BrowserRow, UserProfile } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { BROWSER_LIFESPAN, type BrowserCookie, type CookieValue } from './browser-cookie.ts';

/** The browser behind a request. */
export interface Browser {
  /** Hash that login rows hold (`browser`): a ticket or state of another browser counts for nothing here. */
  readonly id: string;
  /** It came without the cookie: nothing can have begun in it that it still knows of. */
  readonly isNew: boolean;
  readonly cookie: CookieValue;
  /** Undefined: nobody is logged in with this browser. */
  readonly login: BrowserLogin | undefined;
  /** For hidden fields: only a page that was made for this browser can know it. */
  readonly csrf: string;
  /** To be sent with the answer: the cookie of a browser that had none. */
  readonly headers: CookieHeaders;
}

export interface BrowserLogin {
  readonly user: UserProfile;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** What was consented to under it, as `consentKey` names it. */
  readonly consents: readonly string[];
  readonly endsAt: number;
}

/** Cookie headers of an answer. */
export type CookieHeaders = Readonly<Record<string, string>>;

/** Browsers and who is logged in with them. */
export interface Browsers {
  /** @throws PageError: the cookie came twice */
  open(cookies: ReadonlyMap<string, readonly string[]>): Promise<Browser>;
  /**
   * The primary provider said who is there: a new browser login, under a new cookie. Consents of the same user's former one are
   * kept; `consent` is added. To be called when the user's links are stored.
   */
  logIn(browser: Browser, user: UserProfile, consent: string | undefined): Promise<CookieHeaders>;
  /** Remembers a consent under the browser login that is there. */
  remember(browser: Browser, consent: string): Promise<void>;
  /** Ends the browser login. */
  logOut(browser: Browser): Promise<CookieHeaders>;
}

interface BrowserSettings {
  readonly storage: AuthStorage;
  readonly cookie: BrowserCookie;
  /** Name of the provider that says who the user is. */
  readonly primary: string;
  readonly now: () => number;
}

const MAX_CONSENTS = 100;
/** Each took a login at a provider. */
const MAX_BROWSERS = 100_000;

/** Browser logins lie in the storage; they hold for 12 h, in one browser. */
export function createBrowsers({ storage, cookie, primary, now }: BrowserSettings): Browsers {
  const write = (login: string, row: BrowserRow) =>
    storage.put('browser', hashId(login), row, { lifespan: row.ends_at - now(), capacity: MAX_BROWSERS });

  /**
   * It holds as long as the user's link at the primary provider does: signing out everywhere removes that, a provider that no
   * longer knows the user marks it, and one that was made anew afterwards does not bring former browser logins back.
   */
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
