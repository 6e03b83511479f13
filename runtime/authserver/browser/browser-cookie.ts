import { hashId } from '../ids.ts';
import { PageError } from '../page-error.ts';

/** Lifespan of the cookie and of the browser login, in milliseconds. */
export const BROWSER_LIFESPAN = 12 * 3_600_000;

/** First part: the browser, which pending logins are bound to. Second part: the browser login, new each time, so other tabs keep theirs. */
export interface CookieValue {
  readonly browser: string;
  readonly login: string | undefined;
}

export interface BrowserCookie {
  readonly name: string;
  /** Returns undefined for a missing or foreign cookie. @throws PageError when the cookie came twice */
  read(cookies: ReadonlyMap<string, readonly string[]>): CookieValue | undefined;
  write(value: CookieValue): string;
}

const VALUE = /^([A-Za-z0-9_-]{43})(?:\.([A-Za-z0-9_-]{43}))?$/;

/** On plain HTTP, browsers reject `__Host-` and `Secure`. Cookies with `Path=/` ignore port and path, so the name tells servers apart. */
export function browserCookie(issuer: string, base: string): BrowserCookie {
  const secure = new URL(base).protocol === 'https:';
  const name = `${secure ? '__Host-' : ''}vmcp-${hashId(issuer).slice(0, 8)}`;
  const attributes = `Path=/; Max-Age=${BROWSER_LIFESPAN / 1000}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  return {
    name,
    read(cookies) {
      const [value = '', ...more] = cookies.get(name) ?? [];
      if (more.length > 0) throw repeatedCookie(new URL(base).hostname);
      const [, browser, login] = VALUE.exec(value) ?? [];
      return browser === undefined ? undefined : { browser, login };
    },
    write: ({ browser, login }) => `${name}=${login === undefined ? browser : `${browser}.${login}`}; ${attributes}`,
  };
}

/** Another port or path of the host can set the same cookie, and browsers do not report its origin (RFC 6265 §8.6). */
function repeatedCookie(host: string): PageError {
  return new PageError({
    status: 400,
    title: 'The sign-in cookie came twice',
    text:
      `This browser sent two cookies of the same name, and another program at ${host} may have set one of them. Nothing was done. ` +
      `Delete the cookies of ${host} in this browser, then start again from your application.`,
  });
}
