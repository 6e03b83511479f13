import { ofProvider } from '../chain.ts';
import type { Browser } from '../browser/browsers.ts';
import { OAuthError } from '../errors.ts';
import type { Answer } from '../handler.ts';
import type { LoginRow } from '../storage/rows.ts';
import type { ChainSettings } from './chain-settings.ts';
import { finishLogin } from './finish-login.ts';
import { findActiveLinks } from './active-links.ts';
import { startStep } from './start-step.ts';

/** Skips linked providers, except with purpose `link`. `silent`: no page. @throws OAuthError `interaction_required` when one is needed */
export type NextStep = (login: LoginRow, browser: Browser, how?: { readonly silent: boolean }) => Promise<Answer>;

export function createNextStep(settings: ChainSettings): NextStep {
  return async (login, browser, { silent } = { silent: false }) => {
    const names = login.purpose === 'link' ? login.remaining : await findUnlinked(settings, login);
    for (const [index, name] of names.entries()) {
      // A provider that was removed from the configuration is skipped.
      const provider = settings.providers().get(name);
      if (provider === undefined) continue;
      if (silent) throw new OAuthError('interaction_required', 'The user has to log in at a provider');
      const answer = await startStep(settings, { ...login, remaining: names.slice(index + 1) }, provider, browser);
      if (answer) return answer;
    }
    return finishLogin(settings, login, browser);
  };
}

/** Without a known user no provider counts as linked, and a new login at the primary provider begins without a user. */
async function findUnlinked(settings: ChainSettings, login: LoginRow): Promise<readonly string[]> {
  const { providers } = settings.chain;
  const live = login.user === undefined ? new Set<string>() : await findActiveLinks(settings, login.user.sub);
  return providers
    .filter(({ name, required }) => required || login.remaining.includes(name))
    .map(({ name }) => name)
    .filter((name) => ofProvider(login.links, name) === undefined && !live.has(name));
}
