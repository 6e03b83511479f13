import { hashId } from '../ids.ts';
import { PageError } from '../page-error.ts';

/** Milliseconds that cookie and browser login live. */
export const BROWSER_LIFESPAN = 12 * 3_600_000;

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
  /** Undefined: none came, or it is none of ours. @throws PageError: it came twice */
  read(cookies: ReadonlyMap<string, readonly string[]>): CookieValue | undefined;
  /** Value of a `Set-Cookie` header. */
  write(value: CookieValue): string;
}

const VALUE = /^([A-Za-z0-9_-]{43})(?:\.([A-Za-z0-9_-]{43}))?$/;

/**
 * `base` is where browsers come to; on plain http the `__Host-` prefix and Secure are left out, as no browser takes them there.
 * Cookies know no ports and no paths with `Path=/`, so the name tells apart the servers of one host.
 */
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

/** Another port or path of the host can set a cookie of the same name, and browsers do not say who set which (RFC 6265 §8.6). */
function repeatedCookie(host: string): PageError {
  return new PageError({
    status: 400,
    title: 'The sign-in cookie came twice',
    text:
      `This browser sent two cookies of the same name, and another program at ${host} may have set one of them. Nothing was done. ` +
      `Delete the cookies of ${host} in this browser, then start again from your application.`,
  });
}
