import { shownLine } from '../shown-output.ts';
import { LoopbackBrowser, type Page } from './browse.ts';
import { type Field, type Form, textIn } from './read-html.ts';

const MOST_PAGES = 20;

export interface DevelopmentUser {
  name: string;
  password: string;
}

const isNo = ({ name, value }: Field): boolean => /deny|cancel|abort|reject|switch/i.test(`${name} ${value}`);

/** Fills a form: name and password if it has such fields, and consent. */
function filled({ fields, buttons }: Form, user: DevelopmentUser): URLSearchParams {
  const body = new URLSearchParams();
  for (const { name, value, type, checked } of fields) {
    if (name === '' || ((type === 'checkbox' || type === 'radio') && !checked)) continue;
    const asksName = (type === 'text' || type === 'email') && /^(login|user(name)?|email)$/i.test(name);
    body.append(name, type === 'password' ? user.password : asksName ? user.name : value);
  }
  const yes = buttons.find((button) => !isNo(button));
  if (yes !== undefined && yes.name !== '') body.append(yes.name, yes.value);
  return body;
}

/** Returns the first form if the page has none for each user. */
function formFor({ forms }: Page, { name }: DevelopmentUser): Form | undefined {
  const meant = (text: string): boolean => text === name || text.startsWith(`${name}@`);
  const own = forms.find(
    ({ fields, text }) => fields.some(({ value }) => meant(value)) || text.split(/\s+/).some(meant),
  );
  return forms.length > 1 ? (own ?? forms[0]) : forms[0];
}

function saidBy({ text, status }: Page): string {
  const body = /<body[^>]*>([\s\S]*)<\/body>/i.exec(text)?.[1] ?? text;
  return `${status} ${shownLine(textIn(body)).slice(0, 300)}`;
}

/** Visits this machine only; does not request the client's redirect. @throws NotThisMachine, or an Error that names the last page */
export async function walkThrough(authorizeUrl: URL, redirectUrl: URL, user: DevelopmentUser): Promise<URL> {
  const browser = new LoopbackBrowser();
  const end = (url: URL): boolean => url.origin === redirectUrl.origin && url.pathname === redirectUrl.pathname;
  let here = await browser.go(authorizeUrl, end);
  let before = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    if (here instanceof URL) return here;
    const form = formFor(here, user);
    // The server shows the same page again when it rejects the input.
    if (!form || here.status >= 400 || here.text === before) break;
    before = here.text;
    const body = filled(form, user);
    if (form.method === 'GET') {
      const target = new URL(form.action);
      target.search = body.toString();
      here = await browser.go(target, end);
    } else {
      here = await browser.go(form.action, end, body);
    }
  }
  if (here instanceof URL) return here;
  throw new Error(`the login of ${user.name} ends at ${here.url.origin}${here.url.pathname}: ${saidBy(here)}`);
}
