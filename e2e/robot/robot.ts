import { type Dispatcher, request } from 'undici';
import { type Field, type Form, formsIn, linksIn } from '#cli/development-login/read-html';
import { CookieJar } from './cookie-jar.ts';
import { type Page, textOf } from './page.ts';
import { decide, type Person } from './person.ts';

const DEADLINE = 15_000;
const MAX_REDIRECTS = 20;
const MAX_PAGES = 20;

/** A form submission other than the default one. */
interface Press {
  readonly form?: Form;
  /** Values typed over those of the page; a checkbox: `on` or empty. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly button?: Field | undefined;
}

export interface Stop {
  /** Redirects that are not followed: the page then holds them as `next`. */
  readonly before?: (url: URL) => boolean;
  /** Pages at which the walk ends. */
  readonly at?: (page: Page) => boolean;
}

interface Going {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body?: string;
  /** The page of the link or form. */
  readonly from?: URL | undefined;
}

/**
 * A headless browser: it stores cookies, follows redirects, submits forms. A page is a value: several pages are tabs,
 * and submitting an old one again is the back button.
 */
export class Robot {
  readonly cookies = new CookieJar();
  readonly #dispatcher: Dispatcher | undefined;

  constructor({ dispatcher }: { dispatcher?: Dispatcher } = {}) {
    this.#dispatcher = dispatcher;
  }

  /** Requests a URL, as if it were typed in, or as a link of another page. */
  open(url: string | URL, { from, ...stop }: Stop & { from?: URL } = {}): Promise<Page> {
    return this.#go({ url: new URL(url), method: 'GET', from }, stop);
  }

  /** Submits a form of a page, by default its first form with its first button. */
  submit(page: Page, press: Press = {}, stop: Stop = {}): Promise<Page> {
    const form = press.form ?? page.forms[0];
    if (form === undefined) throw new Error(`no form at ${page.url.host}${page.url.pathname}`);
    const body = fill(form, press.fields ?? {}, 'button' in press ? press.button : form.buttons[0]);
    if (form.method === 'POST') {
      return this.#go({ url: form.action, method: 'POST', body: body.toString(), from: page.url }, stop);
    }
    const url = new URL(form.action);
    url.search = body.toString();
    return this.#go({ url, method: 'GET', from: page.url }, stop);
  }

  /** Performs the person's action at each page, from a URL or a page, until a page leads nowhere or `stop` applies. */
  async walk(start: string | URL | Page, person: Person, stop: Stop = {}): Promise<Page> {
    let page = isPage(start) ? await this.#follow(start, stop) : await this.open(start, stop);
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      if (page.next !== undefined || stop.at?.(page)) return page;
      const deed = decide(page, person);
      if (deed === undefined) return page;
      page =
        'href' in deed
          ? await this.open(deed.href, { from: page.url, ...stop })
          : await this.submit(page, { ...deed, fields: { ...deed.fields, ...checks(deed.form, person) } }, stop);
    }
    throw new Error(`more than ${MAX_PAGES} pages, the last ${page.url.host}${page.url.pathname}`);
  }

  /**
   * Completes a login from a client's authorize URL to the redirect back to that client, which is not requested.
   * @throws if it ends at another page
   */
  async login(authorizeUrl: string | URL, person: Person): Promise<URL> {
    const page = await this.walk(authorizeUrl, person, { before: isRedirectOf(authorizeUrl) });
    if (page.next === undefined) {
      throw new Error(`login ended with ${page.status} at ${page.url.host}${page.url.pathname}: ${textOf(page)}`);
    }
    return page.next;
  }

  #follow(page: Page, stop: Stop): Promise<Page> {
    if (page.next === undefined) return Promise.resolve(page);
    return this.#go({ url: page.next, method: 'GET', from: page.visited[0] }, stop);
  }

  async #go(first: Going, { before }: Stop): Promise<Page> {
    const visited: URL[] = [];
    let going = first;
    for (let redirects = 0; redirects < MAX_REDIRECTS; redirects += 1) {
      visited.push(going.url);
      const answer = await this.#request(going);
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status > 399 || typeof location !== 'string') {
        return { ...answer, next: undefined, visited };
      }
      const next = new URL(location, going.url);
      if (before?.(next)) return { ...answer, next, visited };
      const keeps = answer.status === 307 || answer.status === 308;
      going = keeps ? { ...going, url: next } : { url: next, method: 'GET', from: going.from };
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${going.url.host}${going.url.pathname}`);
  }

  async #request({ url, method, body, from }: Going): Promise<Omit<Page, 'next' | 'visited'>> {
    const crossSite = from !== undefined && from.hostname !== url.hostname;
    const cookie = this.cookies.header(url, { method, crossSite });
    const answer = await request(url, {
      method,
      signal: AbortSignal.timeout(DEADLINE),
      headers: {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-site': from === undefined ? 'none' : siteOf(from, url),
        ...(cookie !== '' && { cookie }),
        ...(from && method === 'POST' && { origin: from.origin }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
      ...(this.#dispatcher && { dispatcher: this.#dispatcher }),
    });
    this.cookies.take(url, [answer.headers['set-cookie'] ?? []].flat());
    const text = await answer.body.text();
    const isHtml = String(answer.headers['content-type']).startsWith('text/html');
    const [forms, links] = isHtml ? [formsIn(text, url), linksIn(text, url)] : [[], []];
    return { url, status: answer.statusCode, headers: answer.headers, text, forms, links };
  }
}

/** Returns a test for the redirect URI of an authorize URL, with any query. */
export function isRedirectOf(authorizeUrl: string | URL): (url: URL) => boolean {
  const redirectUri = new URL(authorizeUrl).searchParams.get('redirect_uri');
  if (redirectUri === null) return () => false;
  const wanted = new URL(redirectUri);
  return (url) => url.origin === wanted.origin && url.pathname === wanted.pathname && url.protocol === wanted.protocol;
}

const isPage = (start: string | URL | Page): start is Page => typeof start === 'object' && 'forms' in start;

function siteOf(from: URL, to: URL): string {
  if (from.origin === to.origin) return 'same-origin';
  return from.hostname === to.hostname ? 'same-site' : 'cross-site';
}

function fill(form: Form, typed: Readonly<Record<string, string>>, button: Field | undefined): URLSearchParams {
  const body = new URLSearchParams();
  for (const field of form.fields) {
    const value = typed[`${field.name}=${field.value}`] ?? typed[field.name];
    if (field.type === 'checkbox') {
      if (value === undefined ? field.checked : value !== '') body.append(field.name, field.value);
    } else if (field.name !== '') body.append(field.name, value ?? field.value);
  }
  if (button !== undefined && button.name !== '') body.append(button.name, button.value);
  return body;
}

function checks(form: Form, { checks: wanted = {} }: Person): Record<string, string> {
  const known = form.fields.flatMap(({ name, value }) => [name, `${name}=${value}`]);
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, on]) => (known.includes(name) ? [[name, on ? 'on' : '']] : [])),
  );
}
