import { LoginFailed, type Person, type SharedLogin } from '#runtime/remote-login/shared-login';
import { auditSubjects } from '../audit-subjects.ts';
import type { Browser, BrowserLogin } from '../browser/browsers.ts';
import { redirectAnswer, type Answer, type Handler, type RequestFacts } from '../handler.ts';
import { checkLoginRate } from '../login/check-login-rate.ts';
import { PageError } from '../page-error.ts';
import { confirmEndPage, type SharedLoginView } from '../pages/shared-logins.ts';
import type { UserProfile } from '../storage/rows.ts';
import { connectionsFrame, type ConnectionsSettings } from './connections-settings.ts';

interface SignedIn {
  readonly browser: Browser;
  readonly login: BrowserLogin;
  readonly facts: RequestFacts;
}

/** Returns undefined when no server has administrators. */
export async function viewSharedLogins(
  { sharedLogins }: ConnectionsSettings,
  user: UserProfile,
): Promise<readonly SharedLoginView[] | undefined> {
  const here = sharedLogins().filter(({ administrators }) => administrators.length > 0);
  if (here.length === 0) return undefined;
  const own = here.filter((login) => isAdministrator(login, user));
  return Promise.all(own.map(async (login) => ({ name: login.name, isLoggedIn: await login.isLoggedIn() })));
}

export async function beginSharedLogin(
  settings: ConnectionsSettings,
  { browser, login, facts }: SignedIn,
): Promise<Answer> {
  const shared = sharedLoginOf(settings, login.user, facts.form.get('backend'));
  await checkLoginRate(settings, facts.remoteAddress);
  const page = await told(shared.begin(settings.urls.sharedCallback(shared.name), personOf(browser, login)));
  return redirectAnswer(page, { ...browser.headers, 'Referrer-Policy': 'no-referrer' });
}

export async function endSharedLogin(
  settings: ConnectionsSettings,
  { browser, login, facts }: SignedIn,
): Promise<Answer> {
  const shared = sharedLoginOf(settings, login.user, facts.form.get('backend'));
  if (facts.form.get('confirmed') !== 'yes') return confirmEndPage(connectionsFrame(settings, browser), shared.name);
  await shared.end(personOf(browser, login));
  return redirectAnswer(settings.urls.connections);
}

/** Requires the browser that began the login, with the same administrator signed in. */
export function createSharedCallback(settings: ConnectionsSettings): Handler {
  return async ({ cookies, params, query }) => {
    const browser = await settings.browsers.open(cookies);
    if (browser.login === undefined) throw notSignedIn();
    const shared = sharedLoginOf(settings, browser.login.user, params.backend ?? null);
    const person = personOf(browser, browser.login);
    const callback = new URL(`${settings.urls.sharedCallback(shared.name)}?${query.toString()}`);
    const loginStep = { endpoint: 'shared-callback', browser, content: [shared.name, ...query] };
    return settings.repeatAnswer(loginStep, async () => {
      await told(shared.finish(callback, person));
      return redirectAnswer(`${settings.urls.connections}?logged-in=${encodeURIComponent(shared.name)}`);
    });
  };
}

const personOf = ({ id }: Browser, { user }: BrowserLogin): Person => ({ browser: id, subjects: auditSubjects(user) });

const isAdministrator = ({ administrators }: SharedLogin, { sub }: UserProfile): boolean =>
  administrators.includes(sub);

/** Finds a login that the user may administer. The error does not reveal whether the login exists. @throws PageError */
function sharedLoginOf({ sharedLogins }: ConnectionsSettings, user: UserProfile, name: string | null): SharedLogin {
  const found = sharedLogins().find((login) => login.name === name);
  if (found && isAdministrator(found, user)) return found;
  throw new PageError({
    status: 403,
    title: 'This is for administrators',
    text: 'Who may log in there for everybody is written in the MCPServer (remoteAuth.administrators). Nothing was changed.',
  });
}

function notSignedIn(): PageError {
  return new PageError({
    status: 403,
    title: 'You are not signed in here any more',
    text: 'Nothing was changed. Open your connections, sign in, and log in there again.',
  });
}

/** Shows the administrator why a login failed. @throws PageError */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof LoginFailed)) throw cause;
    throw new PageError({ status: 400, title: 'The login did not succeed', text: cause.message }, { cause });
  }
}
