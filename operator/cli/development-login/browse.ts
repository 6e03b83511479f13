const DEADLINE = 10_000;
const MOST_REDIRECTS = 20;
const LARGEST = 1_048_576;

export interface Form {
  action: URL;
  method: 'GET' | 'POST';
  fields: Field[];
  /** What can be pressed, in the order of the page. */
  buttons: Field[];
  /** What stands in it. */
  text: string;
}

export interface Field {
  name: string;
  value: string;
  type: string;
  checked: boolean;
}

export interface Page {
  url: URL;
  status: number;
  text: string;
  forms: Form[];
}

/** Somebody was asked to go to another machine. */
export class NotThisMachine extends Error {
  override readonly name = 'NotThisMachine';
  constructor(url: URL) {
    super(
      `the login leads to ${url.origin}, which is not on this machine: log in by your browser instead ("vmcp try")`,
    );
  }
}

/** Whether a URL is of this machine: names are not trusted, as they can be looked up elsewhere. */
export function isOfThisMachine({ protocol, hostname }: URL): boolean {
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return loopback && (protocol === 'http:' || protocol === 'https:');
}

interface Cookie {
  host: string;
  path: string;
  pair: string;
}

const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  '#x27': "'",
  '#x2F': '/',
};

function unescapeHtml(text: string): string {
  return text.replaceAll(/&(#?\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}

function attributesOf(tag: string): Map<string, string> {
  const found = tag.matchAll(/([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g);
  return new Map(
    [...found].map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      unescapeHtml(double ?? single ?? bare ?? ''),
    ]),
  );
}

function fieldsIn(html: string, pattern: RegExp, type: string): Field[] {
  return [...html.matchAll(pattern)].map(([, tag = '']) => {
    const attributes = attributesOf(tag);
    const kind = attributes.get('type')?.toLowerCase() ?? type;
    const value = attributes.get('value') ?? (kind === 'checkbox' ? 'on' : '');
    return { name: attributes.get('name') ?? '', value, type: kind, checked: attributes.has('checked') };
  });
}

/** The forms of a plain page. */
function formsIn(html: string, url: URL): Form[] {
  const found = html.replaceAll(/<!--[\s\S]*?-->/g, '').matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi);
  return [...found].map(([, tag = '', body = '']) => {
    const attributes = attributesOf(tag);
    const inputs = fieldsIn(body, /<input\b([^>]*)>/gi, 'text');
    const buttons = fieldsIn(body, /<button\b([^>]*)>/gi, 'submit');
    return {
      action: new URL(attributes.get('action') ?? '', url),
      method: attributes.get('method')?.toLowerCase() === 'post' ? 'POST' : 'GET',
      fields: inputs.filter(({ type }) => type !== 'submit'),
      buttons: [...inputs, ...buttons].filter(({ type }) => type === 'submit'),
      text: unescapeHtml(body.replaceAll(/<[^>]*>/g, ' ')),
    };
  });
}

/** A browser without a screen that never leaves this machine: it keeps cookies, follows redirects and submits forms. */
export class LoopbackBrowser {
  readonly #cookies = new Map<string, Cookie>();

  /**
   * Goes to a URL, or submits to it, and follows redirects until there is a page, or one leads to `end`, which is not
   * asked for. @throws NotThisMachine
   */
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
