import type { Field, Form } from '#cli/development-login/read-html';
import type { Page } from './page.ts';

/** The user of the browser, and their decisions. */
export interface Person {
  /** Name at the login forms of providers: one for all, or by the host and port of the provider. */
  readonly user?: string | Readonly<Record<string, string>>;
  /** Selects pages at which the person denies. */
  readonly denies?: (page: Page) => boolean;
  /** Checkboxes that the person changes, by name or `name=value`. */
  readonly checks?: Readonly<Record<string, boolean>>;
}

/** The form or link that the person activates. */
type Deed =
  | { readonly form: Form; readonly fields: Readonly<Record<string, string>>; readonly button: Field | undefined }
  | { readonly href: URL };

const NO = /deny|denied|cancel|reject|refuse|abort|no\b/i;
const YES = /^(allow|approve|accept|agree|continue|yes)$/i;

/** Returns the person's action at a page; undefined: the page leads nowhere. */
export function decide(page: Page, person: Person): Deed | undefined {
  const form = page.forms[0];
  if (form === undefined) return undefined;
  const denies = person.denies?.(page) ?? false;
  const button = denies ? form.buttons.find(isNo) : agreement(form);
  const login = form.fields.find(({ name }) => name === 'login');
  if (denies && button === undefined) return leave(page);
  if (login === undefined) return { form, fields: {}, button };
  return { form, fields: { login: nameAt(page, person), password: nameAt(page, person) }, button };
}

const agreement = ({ buttons }: Form) =>
  buttons.find(({ value }) => YES.test(value)) ?? buttons.find((one) => !isNo(one));

const isNo = ({ name, value }: Field) => NO.test(value) || NO.test(name);

/** Returns the exit of a page whose form has only a button to agree. */
function leave(page: Page): Deed | undefined {
  const link = page.links.find(({ href, text }) => NO.test(text) || href.pathname.endsWith('/abort'));
  return link && { href: link.href };
}

function nameAt(page: Page, { user }: Person): string {
  const name = typeof user === 'object' ? user[page.url.host] : user;
  if (name === undefined) throw new Error(`nobody is to log in at ${page.url.host}`);
  return name;
}
