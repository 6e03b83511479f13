import { hashId } from '../ids.ts';

/** Milliseconds that cookie and browser login live. */
export const BROWSER_LIFESPAN = 12 * 3_600_000;
/** Tabs that a browser without a cookie opened at one time: more than people do. */
const MAX_FIRST = 8;

/**
 * The one cookie. Its first part names the browser: logins under way are bound to it. Its second part, which is there after a
 * login alone and is new with each, is the browser login. So one tab's login does not cut off the login in another tab.
 */
export interface CookieValue {
  readonly browser: string;
  readonly login: string | undefined;
}

export interface BrowserCookie {
  readonly name: string;
  /** Undefined: none came, or it is none of ours. */
  read(cookies: ReadonlyMap<string, string>): CookieValue | undefined;
  /** Value of a `Set-Cookie` header. */
  write(value: CookieValue): string;
  /**
   * What a browser that came without a cookie was called then. Of tabs that it opens at one time each gets a cookie, of which the
   * last is kept: so each gets a second one besides, under a name of its own, for the time of a login.
   */
  readFirst(cookies: ReadonlyMap<string, string>): readonly string[];
  /** Value of a `Set-Cookie` header; `lifespan` in milliseconds. */
  writeFirst(browser: string, lifespan: number): string;
}

const FIRST = /^[A-Za-z0-9_-]{43}$/;
const VALUE = /^([A-Za-z0-9_-]{43})(?:\.([A-Za-z0-9_-]{43}))?$/;

/**
 * `base` is where browsers come to; on plain http the `__Host-` prefix and Secure are left out, as no browser takes them there.
 * Cookies know no ports and no paths with `Path=/`, so the name tells apart the servers of one host.
 */
export function browserCookie(issuer: string, base: string): BrowserCookie {
  const secure = new URL(base).protocol === 'https:';
  const name = `${secure ? '__Host-' : ''}vmcp-${hashId(issuer).slice(0, 8)}`;
  const attributes = (lifespan: number) =>
    `Path=/; Max-Age=${Math.ceil(lifespan / 1000)}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  const firstName = (browser: string) => `${name}-${hashId(browser).slice(0, 8)}`;
  return {
    name,
    read(cookies) {
      const [, browser, login] = VALUE.exec(cookies.get(name) ?? '') ?? [];
      return browser === undefined ? undefined : { browser, login };
    },
    write: ({ browser, login }) =>
      `${name}=${login === undefined ? browser : `${browser}.${login}`}; ${attributes(BROWSER_LIFESPAN)}`,
    readFirst(cookies) {
      const firsts = [...cookies].filter(([key, value]) => FIRST.test(value) && key === firstName(value));
      return firsts.slice(0, MAX_FIRST).map(([, value]) => value);
    },
    writeFirst: (browser, lifespan) => `${firstName(browser)}=${browser}; ${attributes(lifespan)}`,
  };
}
