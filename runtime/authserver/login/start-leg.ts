import type { Browser } from '../browser/browsers.ts';
import { putLogin } from './login-rows.ts';
import { redirectAnswer, type Answer } from '../handler.ts';
import { newId } from '../ids.ts';
import { pendingAad } from '../keys/aad.ts';
import type { LoginRow } from '../storage/rows.ts';
import { UpstreamRefused, UpstreamUnavailable, type UpstreamProvider } from '../upstream/provider.ts';
import type { ChainSettings } from './chain-settings.ts';
import { failLeg } from './fail-leg.ts';
import { newLegSecrets, sealLegSecrets } from './leg-secrets.ts';

/**
 * Stores the login under a new state and redirects the browser to the provider. Returns undefined when the provider
 * cannot be reached and the login continues without it. @throws PageError when a link cannot be made
 */
export async function startLeg(
  settings: ChainSettings,
  login: LoginRow,
  provider: UpstreamProvider,
  browser: Browser,
): Promise<Answer | undefined> {
  const { secrets, place, chain } = settings;
  const { name } = provider;
  const [state, leg] = [newId(), newLegSecrets()];
  const forceLogin = login.force_login === true && name === chain.primary.name;
  try {
    const url = await provider.authorizationUrl({ ...leg, state, forceLogin });
    const sealed = sealLegSecrets(secrets, leg, pendingAad(place, login.id, name));
    await putLogin(settings, { ...login, step: 'leg', leg: { provider: name, secrets: sealed } }, state);
    return redirectAnswer(url, browser.headers);
  } catch (error) {
    if (error instanceof UpstreamUnavailable || error instanceof UpstreamRefused) {
      return failLeg(settings, login, name, error);
    }
    throw error;
  }
}
