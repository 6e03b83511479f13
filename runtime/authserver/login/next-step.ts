import { ofProvider } from '../chain.ts';
import type { Browser } from '../browser/browsers.ts';
import { OAuthError } from '../errors.ts';
import type { Answer } from '../handler.ts';
import type { LoginRow } from '../storage/rows.ts';
import type { ChainSettings } from './chain-settings.ts';
import { finishLogin } from './finish-login.ts';
import { findLiveLinks } from './live-links.ts';
import { startLeg } from './start-leg.ts';

/**
 * Goes on with a login that was taken, or never stored: to its next leg, past those that are linked, or to its end.
 * With purpose link all that remain are visited. `silent`: nobody may be asked.
 * @throws OAuthError `interaction_required` where it is silent and a leg is left
 */
export type NextStep = (login: LoginRow, browser: Browser, how?: { readonly silent: boolean }) => Promise<Answer>;

/** The chain in its order: the first provider that is still to be visited, and after the last one the end. */
export function createNextStep(settings: ChainSettings): NextStep {
  return async (login, browser, { silent } = { silent: false }) => {
    const names = login.purpose === 'link' ? login.remaining : await findUnlinked(settings, login);
    for (const [index, name] of names.entries()) {
      // One that the configuration no longer has is left out.
      const provider = settings.providers().get(name);
      if (provider === undefined) continue;
      if (silent) throw new OAuthError('interaction_required', 'The user has to log in at a provider');
      const answer = await startLeg(settings, { ...login, remaining: names.slice(index + 1) }, provider, browser);
      if (answer) return answer;
    }
    return finishLogin(settings, login, browser);
  };
}

/**
 * What is required and neither visited in this login nor linked, with what else the user chose. Until it is known who the user is,
 * nothing counts as linked; a new login at the primary provider begins without a user.
 */
async function findUnlinked(settings: ChainSettings, login: LoginRow): Promise<readonly string[]> {
  const { providers } = settings.chain;
  const live = login.user === undefined ? new Set<string>() : await findLiveLinks(settings, login.user.sub);
  return providers
    .filter(({ name, required }) => required || login.remaining.includes(name))
    .map(({ name }) => name)
    .filter((name) => ofProvider(login.links, name) === undefined && !live.has(name));
}
