interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  readonly sameSite: 'strict' | 'lax' | 'none';
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** The facts of a request that select its cookies. */
interface Navigation {
  readonly method: 'GET' | 'POST';
  /** Whether another site's page led to the request. */
  readonly crossSite: boolean;
}

/**
 * Stores cookies as a browser does (RFC 6265bis): by host regardless of the port, never with Domain, and by the
 * `__Host-` rules.
 */
export class CookieJar {
  readonly #cookies = new Map<string, Cookie>();

  /** Stores the Set-Cookie lines of an answer. */
  take(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const cookie = parseCookie(url, line);
      if (cookie === undefined) continue;
      const key = [cookie.host, cookie.path, cookie.name].join('|');
      if (cookie.expires <= Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, cookie);
    }
  }

  /** Returns the Cookie header for a request; empty: none. */
  header(url: URL, { method, crossSite }: Navigation): string {
    return this.#for(url)
      .filter(({ sameSite }) => !crossSite || sameSite === 'none' || (sameSite === 'lax' && method === 'GET'))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  /** Returns names and values for a URL. */
  at(url: string): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#for(new URL(url)).map(({ name, value }) => [name, value]));
  }

  /** Sets a cookie, as another program on the machine could. */
  set(url: string, name: string, value: string): void {
    this.take(new URL(url), [`${name}=${value}; Path=/; SameSite=Lax`]);
  }

  /** Deletes one cookie. */
  expire(url: string, name: string): void {
    this.take(new URL(url), [`${name}=; Path=/; Max-Age=0`]);
  }

  clear(): void {
    this.#cookies.clear();
  }

  #for(url: URL): Cookie[] {
    return [...this.#cookies.values()].filter(
      ({ host, path, secure, expires }) =>
        host === url.hostname &&
        isBelow(url.pathname, path) &&
        (!secure || url.protocol === 'https:') &&
        expires > Date.now(),
    );
  }
}

const isBelow = (path: string, folder: string) =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

function parseCookie(url: URL, line: string): Cookie | undefined {
  const [pair = '', ...parts] = line.split(';').map((part) => part.trim());
  const equals = pair.indexOf('=');
  if (equals < 1) return undefined;
  const attributes = new Map(
    parts.map((part) => {
      const [name = '', value = ''] = part.split('=', 2);
      return [name.toLowerCase(), value] as const;
    }),
  );
  const name = pair.slice(0, equals);
  const secure = attributes.has('secure');
  const given = attributes.get('path') ?? '';
  const path = given.startsWith('/') ? given : folderOf(url.pathname);
  if (secure && url.protocol !== 'https:') return undefined;
  if (name.startsWith('__Host-') && (!secure || path !== '/' || attributes.has('domain'))) return undefined;
  return {
    name,
    value: pair.slice(equals + 1),
    host: url.hostname,
    path,
    secure,
    httpOnly: attributes.has('httponly'),
    sameSite: sameSiteOf(attributes),
    expires: expiryOf(attributes),
  };
}

function sameSiteOf(attributes: ReadonlyMap<string, string>): Cookie['sameSite'] {
  const written = attributes.get('samesite')?.toLowerCase();
  return written === 'strict' || written === 'none' ? written : 'lax';
}

function expiryOf(attributes: ReadonlyMap<string, string>): number {
  const maxAge = attributes.get('max-age');
  if (maxAge !== undefined) return Date.now() + Number(maxAge) * 1000;
  const expires = attributes.get('expires');
  return expires === undefined ? Infinity : Date.parse(expires);
}

const folderOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf('/'), 1));
