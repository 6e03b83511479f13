import type { Browser } from '../browser/browsers.ts';
import { putLogin } from './login-rows.ts';
import { redirectAnswer, type Answer } from '../handler.ts';
import { newId } from '../ids.ts';
import { pendingAad } from '../keys/aad.ts';
import type { LoginRow } from '../storage/rows.ts';
import { UpstreamRefused, UpstreamUnavailable, type UpstreamProvider } from '../upstream/provider.ts';
import type { ChainSettings } from './chain-settings.ts';
import { failStep } from './fail-step.ts';
import { newStepSecrets, sealStepSecrets } from './step-secrets.ts';

/** Returns undefined when the provider is unreachable and the login continues without it. @throws PageError when a link cannot be made */
export async function startStep(
  settings: ChainSettings,
  login: LoginRow,
  provider: UpstreamProvider,
  browser: Browser,
): Promise<Answer | undefined> {
  const { secrets, place, chain } = settings;
  const { name } = provider;
  const [state, loginStep] = [newId(), newStepSecrets()];
  const forceLogin = login.force_login === true && name === chain.primary.name;
  try {
    const url = await provider.authorizationUrl({ ...loginStep, state, forceLogin });
    const sealed = sealStepSecrets(secrets, loginStep, pendingAad(place, login.id, name));
    await putLogin(settings, { ...login, step: 'provider', login_step: { provider: name, secrets: sealed } }, state);
    return redirectAnswer(url, browser.headers);
  } catch (error) {
    if (error instanceof UpstreamUnavailable || error instanceof UpstreamRefused) {
      return failStep(settings, login, name, error);
    }
    throw error;
  }
}
