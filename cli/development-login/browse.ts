import { isLoopbackHost } from '#crds/parts/private-address';
import { type Form, formsIn } from './read-html.ts';

const DEADLINE = 10_000;
const MOST_REDIRECTS = 20;
const LARGEST = 1_048_576;

export interface Page {
  url: URL;
  status: number;
  text: string;
  forms: readonly Form[];
}

/** Thrown when a page leads to another machine. */
export class NotThisMachine extends Error {
  override readonly name = 'NotThisMachine';
  constructor(url: URL) {
    super(`the login leads to ${url.origin}, which is not on this machine`);
  }
}

/** Refuses host names, because DNS may resolve them to another machine. */
export function isOfThisMachine({ protocol, hostname }: URL): boolean {
  return isLoopbackHost(hostname) && (protocol === 'http:' || protocol === 'https:');
}

interface Cookie {
  host: string;
  path: string;
  pair: string;
}

/** Keeps cookies, follows redirects and submits forms. */
export class LoopbackBrowser {
  readonly #cookies = new Map<string, Cookie>();

  /** Follows redirects to a page, or to a URL that matches `end` without requesting it. @throws NotThisMachine */
  async go(start: URL, end: (url: URL) => boolean, body?: URLSearchParams): Promise<Page | URL> {
    let [url, sent] = [start, body];
    for (let redirects = 0; redirects < MOST_REDIRECTS; redirects += 1) {
      if (end(url)) return url;
      const answer = await this.#ask(url, sent);
      const location = answer.headers.get('location');
      if (answer.status < 300 || answer.status > 399 || location === null) {
        const text = (await answer.text()).slice(0, LARGEST);
        return { url, status: answer.status, text, forms: formsIn(text, url) };
      }
      await answer.body?.cancel();
      [url, sent] = [new URL(location, url), undefined];
    }
    throw new Error(`the login redirects more than ${MOST_REDIRECTS} times`);
  }

  async #ask(url: URL, body: URLSearchParams | undefined): Promise<Response> {
    if (!isOfThisMachine(url)) throw new NotThisMachine(url);
    const cookie = [...this.#cookies.values()]
      .filter(({ host, path }) => host === url.hostname && url.pathname.startsWith(path))
      .map(({ pair }) => pair)
      .join('; ');
    const headers = {
      accept: 'text/html',
      ...(cookie === '' ? {} : { cookie }),
      ...(body ? { origin: url.origin } : {}),
    };
    const how = body ? { method: 'POST', body } : {};
    const answer = await fetch(url, { ...how, headers, redirect: 'manual', signal: AbortSignal.timeout(DEADLINE) });
    for (const line of answer.headers.getSetCookie()) this.#keep(url, line);
    return answer;
  }

  #keep({ hostname: host }: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const named = new Map(attributes.map((part) => [part.split('=')[0]?.toLowerCase(), part.split('=')[1] ?? '']));
    const path = named.get('path') ?? '/';
    const key = `${host} ${path} ${pair.split('=')[0] ?? ''}`;
    const over = named.get('max-age') === '0' || Date.parse(named.get('expires') ?? '') < Date.now();
    if (over) this.#cookies.delete(key);
    else this.#cookies.set(key, { host, path, pair });
  }
}
