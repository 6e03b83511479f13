import type { Handler } from '../handler.ts';
import { connectionsPage, signInPage } from '../pages/connections-page.ts';
import { viewChain } from '../chain.ts';
import { viewSharedLogins } from './shared-logins.ts';
import { connectionsFrame, type ConnectionsSettings } from './connections-settings.ts';

/** Shows the sign-in page without a browser login. `?linked=` names a provider that was just linked, `?logged-in=` a remote server. */
export function createShowConnections(settings: ConnectionsSettings): Handler {
  const { storage, browsers, chain } = settings;
  return async ({ cookies, query }) => {
    const browser = await browsers.open(cookies);
    const frame = connectionsFrame(settings, browser);
    if (browser.login === undefined) return signInPage(frame, chain.primary);
    const { user } = browser.login;
    const [links, sessions, sharedLogins] = await Promise.all([
      storage.linksOf(user.sub),
      storage.sessionsOf(user.sub),
      viewSharedLogins(settings, user),
    ]);
    const providers = viewChain(chain, links);
    const linked = providers.find(({ name, state }) => name === query.get('linked') && state === 'linked')?.name;
    const done = sharedLogins?.find(({ name, isLoggedIn }) => isLoggedIn && name === query.get('logged-in'))?.name;
    const shared = sharedLogins && { logins: sharedLogins, subject: user.sub, done };
    return connectionsPage(frame, { user, providers, sessions: sessions.length, linked, shared });
  };
}
