import { valueOf } from '../authorize/parameters.ts';
import type { Browser } from '../browser/browsers.ts';
import type { RepeatAnswer } from '../browser/repeat-answer.ts';
import { ofProvider } from '../chain.ts';
import { takeLogin } from './login-rows.ts';
import type { ChainSettings } from './chain-settings.ts';
import { failStep } from './fail-step.ts';
import { openStepSecrets } from './step-secrets.ts';
import { outdated } from './refusals.ts';
import type { Answer, Handler, RequestFacts } from '../handler.ts';
import { SealBroken, UnknownSecret } from '#runtime/keys/secret-ring';
import type { NextStep } from './next-step.ts';
import { PageError } from '../page-error.ts';
import { pendingAad } from '../keys/aad.ts';
import type { LoginRow } from '../storage/rows.ts';
import {
  type StepResult,
  type StepSecrets,
  type UpstreamProvider,
  UpstreamRefused,
  UpstreamUnavailable,
} from '../upstream/provider.ts';
import { takeStepOver } from './take-step-over.ts';

interface CallbackSettings extends ChainSettings {
  readonly nextStep: NextStep;
  readonly repeatAnswer: RepeatAnswer;
}

/** A state is valid once, for one provider, in the browser that began the login. Repeated callbacks get the first answer. */
export function createCallback(settings: CallbackSettings): Handler {
  return async (facts) => {
    const provider = settings.providers().get(facts.params.provider ?? '');
    if (provider === undefined) throw noSuchProvider();
    const browser = await settings.browsers.open(facts.cookies);
    const state = valueOf(facts.query, 'state') ?? '';
    const variant = facts.query.toString();
    const loginStep = { endpoint: 'callback', browser, content: [provider.name, state], variant };
    return settings.repeatAnswer(loginStep, () => endStep(settings, provider, browser, { state, facts }));
  };
}

async function endStep(
  settings: CallbackSettings,
  provider: UpstreamProvider,
  browser: Browser,
  { state, facts }: Pick<Returned, 'state' | 'facts'>,
): Promise<Answer> {
  const { name } = provider;
  const login = await takeLogin(settings, { ticket: state, step: 'provider', provider: name, browser });
  checkStillThere(settings, login, browser);
  const result = await finishStep(settings, { login, provider, state, facts });
  if (!(result instanceof Error)) {
    return settings.nextStep(await takeStepOver(settings, login, provider, result), browser);
  }
  const failed = failStep(settings, login, name, result);
  return failed ?? settings.nextStep({ ...login, login_step: undefined }, browser);
}

/** Skipped steps and added links rely on the browser login, unless the primary provider identifies the user in this login. */
function checkStillThere(
  { chain }: CallbackSettings,
  { user, links, login_step: loginStep }: LoginRow,
  { login }: Browser,
): void {
  const { name } = chain.primary;
  if (user === undefined || ofProvider(links, name) !== undefined || loginStep?.provider === name) return;
  if (login?.user.sub !== user.sub) throw outdated();
}

interface Returned {
  readonly login: LoginRow;
  readonly provider: UpstreamProvider;
  readonly state: string;
  readonly facts: RequestFacts;
}

type StepError = UpstreamRefused | UpstreamUnavailable;

async function finishStep(settings: CallbackSettings, returned: Returned): Promise<StepResult | StepError> {
  const { login, provider, state, facts } = returned;
  const url = new URL(settings.urls.callback(provider.name));
  url.search = facts.query.toString();
  try {
    return await provider.finish(url, { ...secretsOf(settings, login, provider.name), state });
  } catch (error) {
    if (error instanceof UpstreamRefused || error instanceof UpstreamUnavailable) return error;
    throw error;
  }
}

/** @throws UpstreamUnavailable when they are sealed under a secret that is gone */
function secretsOf(
  { secrets, place }: CallbackSettings,
  { id, login_step: loginStep }: LoginRow,
  provider: string,
): StepSecrets {
  try {
    return openStepSecrets(secrets, loginStep?.secrets ?? '', pendingAad(place, id, provider));
  } catch (error) {
    if (!(error instanceof UnknownSecret) && !(error instanceof SealBroken)) throw error;
    throw new UpstreamUnavailable(`${provider}: the secrets of the login step cannot be opened: ${error.name}`);
  }
}

function noSuchProvider(): PageError {
  return new PageError({
    status: 404,
    title: 'There is no such provider',
    text: 'The server does not use it, or does not use it any more. Start again from your application.',
  });
}
