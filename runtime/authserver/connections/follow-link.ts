import { checkLoginRate } from '../login/check-login-rate.ts';
import { beginLogin } from '../login/login-rows.ts';
import type { Browser } from '../browser/browsers.ts';
import type { Answer, Handler, RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import { PageError } from '../page-error.ts';
import { MAX_TICKETS } from '../upstream-tokens/issue-link-url.ts';
import { linkPage } from '../pages/connections-page.ts';
import { viewChain } from '../chain.ts';
import type { TicketRow } from '../storage/rows.ts';
import { checkForm, connectionsFrame, type ConnectionsSettings } from './connections-settings.ts';

/** Milliseconds in which the browser that used a link URL may open it again: a double click opens it twice. */
const USED_FOR = 5_000;

/** Creates the page of a link URL. Only its form consumes the ticket, because programs open such URLs to preview them. */
export function createShowLink(settings: ConnectionsSettings): Handler {
  return async ({ cookies, query }) => {
    const ticket = query.get('ticket') ?? '';
    const browser = await settings.browsers.open(cookies);
    const row = checkTicket(await settings.storage.get('ticket', hashId(ticket)), browser);
    const view = providersOf(settings, row, browser);
    return linkPage(connectionsFrame(settings, browser), { ticket, ...view });
  };
}

/** The ticket names the user. Without a browser login, the primary provider identifies the user, and `nextStep` rejects another one. */
export function createFollowLink(settings: ConnectionsSettings): Handler {
  return async (facts) => {
    const browser = await settings.browsers.open(facts.cookies);
    const form = { endpoint: 'link', browser, content: [...facts.form], keptFor: USED_FOR };
    return settings.repeatAnswer(form, () => follow(settings, browser, facts));
  };
}

async function follow(settings: ConnectionsSettings, browser: Browser, facts: RequestFacts): Promise<Answer> {
  const { storage } = settings;
  checkForm(browser, facts);
  const id = hashId(facts.form.get('ticket') ?? '');
  checkTicket(await storage.get('ticket', id), browser);
  await checkLoginRate(settings, facts.remoteAddress);
  const row = checkTicket(await storage.take('ticket', id), browser);
  if (row.used_by === undefined) {
    await storage.put('ticket', id, { ...row, used_by: browser.id }, { lifespan: USED_FOR, capacity: MAX_TICKETS });
  }
  const { provider, primary } = providersOf(settings, row, browser);
  const names = primary === undefined ? [provider.name] : [primary.name, provider.name];
  const login = beginLogin(settings, browser, {
    purpose: 'link',
    request: undefined,
    remaining: [...new Set(names)],
    user: browser.login?.user,
    sub: row.sub,
  });
  return settings.nextStep(login, browser);
}

/** @throws PageError when the ticket does not exist or belongs to another user */
function checkTicket(row: TicketRow | undefined, { id, login }: Browser): TicketRow {
  if (row === undefined || (row.used_by !== undefined && row.used_by !== id)) {
    throw new PageError({
      status: 400,
      title: 'This link was used already, or is too old',
      text: 'Links like this work once, for ten minutes. Ask your application for a new one.',
    });
  }
  if (login === undefined || login.user.sub === row.sub) return row;
  throw new PageError({
    status: 403,
    title: 'This link is for somebody else',
    text:
      'With this browser another person is signed in than the one that the link was made for. If it is yours, open it in a ' +
      'browser where you are signed in, or in a private window. If somebody sent it to you, close this page.',
  });
}

function providersOf({ chain }: ConnectionsSettings, row: TicketRow, { login }: Browser) {
  const views = viewChain(chain, {});
  const provider = views.find(({ name }) => name === row.provider);
  if (provider === undefined) {
    throw new PageError({
      status: 404,
      title: 'This provider is not there any more',
      text: 'The server no longer uses it. Ask your application for a new link.',
    });
  }
  const primary = login === undefined ? views.find(({ name }) => name === chain.primary.name) : undefined;
  return { provider, primary: primary?.name === provider.name ? undefined : primary };
}
