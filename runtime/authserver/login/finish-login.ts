import { auditSubjects } from '../audit-subjects.ts';
import { answerClient } from '../authorize/answer-client.ts';
import { BROWSER_LIFESPAN } from '../browser/browser-cookie.ts';
import { ofProvider } from '../chain.ts';
import type { Browser, CookieHeaders } from '../browser/browsers.ts';
import { consentKey } from '../consent/consent-key.ts';
import { redirectAnswer, type Answer } from '../handler.ts';
import { hashId, newId } from '../ids.ts';
import type { LinkRow, LoginRow, PendingLink } from '../storage/rows.ts';
import type { FinishedLogin } from '../storage/storage.ts';
import { linkAad, pendingAad } from '../keys/aad.ts';
import { writeCode } from '../token-formats/authorization-code.ts';
import { openTokens, sealTokens } from '../upstream-tokens/stored-tokens.ts';
import type { ChainSettings } from './chain-settings.ts';
import { blocked, otherAccount, outdated } from './refusals.ts';

/** Stores the pending links and the client's code in one operation. @throws PageError when another account is linked; nothing is stored */
export async function finishLogin(settings: ChainSettings, login: LoginRow, browser: Browser): Promise<Answer> {
  const { secrets, changed } = settings;
  const sub = login.user?.sub;
  // Nothing is stored for a user before the primary provider, or the browser login, has identified that user.
  if (sub === undefined || (login.sub !== undefined && login.sub !== sub)) throw outdated();
  if (settings.isBlocked(sub)) throw blocked();
  const id = newId();
  await storeLogin(settings, login, sub, codeOf(settings, login, id));
  if (Object.keys(login.links).length > 0) changed(sub);
  const headers = { ...browser.headers, ...(await signIn(settings, login, browser)) };
  note(settings, login, sub);
  if (login.request) {
    const answer = answerClient(login.request, settings.urls.issuer, { code: writeCode(secrets, id) }, headers);
    return { ...answer, code: hashId(id) };
  }
  return redirectAnswer(connectionsUrl(settings, login), headers);
}

const MAX_TRIES = 3;

/** @throws PageError */
async function storeLogin(
  settings: ChainSettings,
  login: LoginRow,
  sub: string,
  code: FinishedLogin['code'],
): Promise<void> {
  const { storage } = settings;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const before = await storage.linksOf(sub);
    const links = linksOf(settings, login, sub, before);
    const expects = expectedOf(settings, login, before);
    const finished = await storage.finishLogin({ sub, links, expects, code, lifespan: BROWSER_LIFESPAN });
    if (finished.outcome === 'conflict') throw otherAccount(settings, finished.provider);
    if (finished.outcome === 'stored') return;
  }
  throw outdated();
}

function codeOf({ codeLifespan }: ChainSettings, { request, user }: LoginRow, id: string): FinishedLogin['code'] {
  if (request === undefined || user === undefined) return undefined;
  return { id: hashId(id), row: { request, user }, lifespan: codeLifespan };
}

/** A user who signed out everywhere in the meantime gets no code and no former browser login. @throws PageError when a link is missing */
function expectedOf({ chain }: ChainSettings, { links, purpose }: LoginRow, before: Links): Record<string, number> {
  const isSkipped = (name: string, required: boolean) =>
    purpose === 'authorize' && required && ofProvider(links, name) === undefined;
  const expected = Object.entries(before).filter(
    ([name, { state }]) => state === 'linked' && ofProvider(links, name) !== undefined,
  );
  for (const { name, required } of chain.providers) {
    if (!isSkipped(name, required)) continue;
    const link = ofProvider(before, name);
    if (link?.state !== 'linked') throw outdated();
    expected.push([name, link]);
  }
  return Object.fromEntries(expected.map(([name, { linked_at }]) => [name, linked_at]));
}

type Links = Readonly<Record<string, LinkRow>>;

function linksOf(settings: ChainSettings, login: LoginRow, sub: string, before: Links): Record<string, LinkRow> {
  return Object.fromEntries(
    Object.entries(login.links).map(([name, pending]) => [
      name,
      linkOf(settings, { login, sub, name, pending, before: ofProvider(before, name) }),
    ]),
  );
}

interface Linking {
  readonly login: LoginRow;
  readonly sub: string;
  readonly name: string;
  readonly pending: PendingLink;
  readonly before: LinkRow | undefined;
}

function linkOf(settings: ChainSettings, { login, sub, name, pending, before }: Linking): LinkRow {
  const { secrets, place, now } = settings;
  const { tokens, obtainedAt } = openTokens(secrets, pending.sealed, pendingAad(place, login.id, name));
  return {
    account: pending.account,
    sealed: sealTokens(secrets, tokens, obtainedAt ?? now(), linkAad(place, sub, name)),
    expires_at: pending.expires_at,
    // Browser logins are bound to the time of the link, so only a link that had ended gets a new time.
    linked_at: before?.state === 'linked' ? before.linked_at : now(),
    state: 'linked',
    version: 0,
  };
}

async function signIn({ chain, browsers }: ChainSettings, login: LoginRow, browser: Browser): Promise<CookieHeaders> {
  const { user, request, links } = login;
  if (user === undefined || ofProvider(links, chain.primary.name) === undefined) return {};
  return browsers.logIn(browser, user, request && consentKey(request));
}

/** A user who only signed in has linked nothing that the page could confirm. */
function connectionsUrl({ urls, chain }: ChainSettings, { links, sub }: LoginRow): string {
  const names = sub === undefined ? [] : Object.keys(links);
  const linked = names.find((name) => name !== chain.primary.name) ?? names[0];
  return linked === undefined ? urls.connections : `${urls.connections}?${new URLSearchParams({ linked }).toString()}`;
}

function note({ record }: ChainSettings, { user, request, links }: LoginRow, sub: string): void {
  record({
    type: 'auth_login_completed',
    outcome: 'success',
    subjects: { user_id: sub, ...auditSubjects(user) },
    details: { providers: Object.keys(links), ...(request && { client_id: request.client_id }) },
  });
}
