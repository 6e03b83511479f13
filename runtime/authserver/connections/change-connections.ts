import { revokeAssertions } from '../assertions/revocations.ts';
import { auditSubjects } from '../audit-subjects.ts';
import { checkLoginRate } from '../login/check-login-rate.ts';
import { beginLogin } from '../login/login-rows.ts';
import type { Browser, BrowserLogin } from '../browser/browsers.ts';
import { redirectAnswer, type Answer, type Handler, type RequestFacts } from '../handler.ts';
import { PageError } from '../page-error.ts';
import { confirmSignOutPage, confirmUnlinkPage, signedOutPage, signInPage } from '../pages/connections-page.ts';
import { viewChain } from '../chain.ts';
import { beginSharedLogin, endSharedLogin } from './shared-logins.ts';
import { checkForm, connectionsFrame, type ConnectionsSettings } from './connections-settings.ts';

interface SignedIn {
  readonly browser: Browser;
  readonly login: BrowserLogin;
  readonly facts: RequestFacts;
}

/** Creates the endpoint for the forms of the connections page. A second page confirms changes that cannot be undone. */
export function createChangeConnections(settings: ConnectionsSettings): Handler {
  return async (facts) => {
    const browser = await settings.browsers.open(facts.cookies);
    // Two forms with the same fields are distinct requests unless the field `form` identifies their page.
    if (!facts.form.get('form')) return change(settings, browser, facts);
    const form = { endpoint: 'connections', browser, content: [...facts.form] };
    return settings.repeatAnswer(form, () => change(settings, browser, facts));
  };
}

async function change(settings: ConnectionsSettings, browser: Browser, facts: RequestFacts): Promise<Answer> {
  checkForm(browser, facts);
  const action = facts.form.get('action') ?? '';
  if (action === 'sign-in') return signIn(settings, browser, facts);
  const act = CHANGES.get(action);
  if (act === undefined) throw noSuchThing();
  if (browser.login === undefined)
    return asking(signInPage(connectionsFrame(settings, browser), settings.chain.primary));
  return act(settings, { browser, login: browser.login, facts });
}

async function signIn(settings: ConnectionsSettings, browser: Browser, facts: RequestFacts): Promise<Answer> {
  await checkLoginRate(settings, facts.remoteAddress);
  const remaining = [settings.chain.primary.name];
  const what = { purpose: 'link', request: undefined, remaining, user: undefined, sub: undefined } as const;
  return settings.nextStep(beginLogin(settings, browser, what), browser);
}

/** Marks a page as not stored. Otherwise repeated forms would fill the storage of answers, even without a login. */
function asking(page: Answer): Answer {
  return { ...page, changedNothing: true };
}

type Change = (settings: ConnectionsSettings, signedIn: SignedIn) => Promise<Answer>;

const CHANGES: ReadonlyMap<string, Change> = new Map<string, Change>([
  ['link', link],
  ['unlink', unlink],
  ['sign-out', signOut],
  ['begin-login', beginSharedLogin],
  ['end-login', endSharedLogin],
]);

async function link(settings: ConnectionsSettings, { browser, login: { user }, facts }: SignedIn): Promise<Answer> {
  const { name } = providerOf(settings, facts.form);
  await checkLoginRate(settings, facts.remoteAddress);
  const what = { purpose: 'link', request: undefined, remaining: [name], user, sub: user.sub } as const;
  return settings.nextStep(beginLogin(settings, browser, what), browser);
}

async function unlink(settings: ConnectionsSettings, { browser, login, facts }: SignedIn): Promise<Answer> {
  const { storage, chain, urls, changed } = settings;
  const { sub } = login.user;
  const { name } = providerOf(settings, facts.form);
  if (facts.form.get('confirmed') === 'yes') {
    await storage.unlink(sub, name);
    changed(sub);
    return redirectAnswer(urls.connections);
  }
  const provider = viewChain(chain, await storage.linksOf(sub)).find((one) => one.name === name);
  if (provider === undefined) throw noSuchThing();
  return asking(confirmUnlinkPage(connectionsFrame(settings, browser), provider, name === chain.primary.name));
}

async function signOut(settings: ConnectionsSettings, { browser, login, facts }: SignedIn): Promise<Answer> {
  const { storage, browsers, record, changed } = settings;
  const { sub } = login.user;
  const frame = connectionsFrame(settings, browser);
  const sessions = await storage.sessionsOf(sub);
  if (facts.form.get('confirmed') !== 'yes') return asking(confirmSignOutPage(frame, sessions.length));
  await revokeAssertions(settings, sub);
  await storage.endUser(sub);
  changed(sub);
  record({
    type: 'auth_token_revoked',
    outcome: 'success',
    source: facts.remoteAddress,
    subjects: auditSubjects(login.user),
  });
  const cookie = await browsers.logOut(browser);
  return signedOutPage({ ...frame, headers: { ...frame.headers, ...cookie } });
}

function providerOf({ chain }: ConnectionsSettings, form: URLSearchParams): { readonly name: string } {
  const provider = chain.providers.find(({ name }) => name === form.get('provider'));
  if (provider === undefined) throw noSuchThing();
  return provider;
}

function noSuchThing(): PageError {
  return new PageError({
    status: 400,
    title: 'This cannot be done',
    text: 'The form names nothing that there is here. Open your connections again.',
  });
}
