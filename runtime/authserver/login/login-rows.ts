import { hashId, newId } from '../ids.ts';
import { PageError } from '../page-error.ts';
import type { LoginRow } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import type { Browser } from '../browser/browsers.ts';

export interface LoginRowSettings {
  readonly storage: AuthStorage;
  readonly limits: { readonly pending_logins: number; readonly pending_login_lifespan: number };
  readonly now: () => number;
}

export function beginLogin(
  { limits, now }: LoginRowSettings,
  browser: Browser,
  what: Pick<LoginRow, 'purpose' | 'request' | 'remaining' | 'user' | 'sub'> & { readonly forceLogin?: boolean },
): LoginRow {
  const { forceLogin = false, ...fields } = what;
  return {
    id: newId(),
    browser: browser.id,
    step: 'consent',
    login_step: undefined,
    links: {},
    ...(forceLogin && { force_login: true }),
    ends_at: now() + limits.pending_login_lifespan,
    ...fields,
  };
}

/** Stores a login until its next step. @returns the ticket of that step */
export async function putLogin(
  { storage, limits, now }: LoginRowSettings,
  row: LoginRow,
  ticket = newId(),
): Promise<string> {
  const lifespan = Math.max(row.ends_at - now(), 1);
  await storage.put('login', hashId(ticket), row, { lifespan, capacity: limits.pending_logins });
  return ticket;
}

interface AwaitedStep {
  readonly ticket: string;
  readonly step: LoginRow['step'];
  /** Provider of the login step. A ticket of one provider is invalid at another's callback (RFC 9700 §4.4). */
  readonly provider?: string;
  readonly browser: Browser;
  /** The browser reports that a page of this server sent the ticket (`isFromOwnPage`). */
  readonly isFromOwnPage?: boolean;
}

/**
 * Takes the login once and binds it to this browser. A page of this server may continue a login of another cookie: tabs opened at the
 * same time each get one, and the browser keeps the last. @throws PageError when it is another browser's (the row stays), over, or taken
 */
export async function takeLogin(
  { storage, now }: LoginRowSettings,
  { ticket, step, provider, browser, isFromOwnPage = false }: AwaitedStep,
): Promise<LoginRow> {
  const id = hashId(ticket);
  const seen = await storage.get('login', id);
  if (seen?.step !== step || seen.login_step?.provider !== provider || seen.ends_at <= now()) throw stepIsOver();
  if (seen.browser !== browser.id && (browser.isNew || !isFromOwnPage)) throw otherBrowser();
  const row = await storage.take('login', id);
  if (row === undefined) throw stepIsOver();
  return { ...row, browser: browser.id };
}

function stepIsOver(): PageError {
  return new PageError({
    status: 400,
    title: 'This step was done already, or took too long',
    text: 'Nothing was changed. Start again from your application; there is no need to close anything.',
  });
}

function otherBrowser(): PageError {
  return new PageError({
    status: 400,
    title: 'This sign-in belongs to another browser',
    text:
      'It was begun elsewhere, or this browser keeps no cookies. Allow cookies for this page and start again from your ' +
      'application. If somebody sent you a link to this page, close it.',
  });
}
