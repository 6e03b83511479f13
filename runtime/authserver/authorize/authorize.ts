import type { Audit } from '#runtime/audit/audit';
import { auditSubjects } from '../audit-subjects.ts';
import type { Browser, Browsers } from '../browser/browsers.ts';
import { isWebRedirect } from '#crds/parts/redirect-uri';
import { checkLoginRate } from '../login/check-login-rate.ts';
import { beginLogin } from '../login/login-rows.ts';
import { consentKey } from '../consent/consent-key.ts';
import { showConsent, type AuthorizeLogin, type ConsentSettings } from '../consent/show-consent.ts';
import { OAuthError } from '../errors.ts';
import { redirectAnswer, type Answer, type Handler, type RequestFacts } from '../handler.ts';
import type { NextStep } from '../login/next-step.ts';
import { viewChain } from '../chain.ts';
import { addressBucket } from '#lib/connections/address-bucket';
import type { Clients } from '../register/find-client.ts';
import type { Client } from '../register/client.ts';
import { PageError } from '../page-error.ts';
import { answerClient } from './answer-client.ts';
import { checkClient } from './check-client.ts';
import { checkRequest, stateOf, type RequestRules } from './check-request.ts';
import { valueOf } from './parameters.ts';
import { readPrompt, type Prompt } from './read-prompt.ts';

interface AuthorizeSettings extends ConsentSettings, RequestRules {
  readonly clients: Clients;
  readonly browsers: Browsers;
  readonly nextStep: NextStep;
  readonly record: Audit['record'];
}

const MAX_QUERY = 16_384;

/**
 * Creates the authorization endpoint (RFC 6749 §4.1.1, RFC 7636, RFC 8707, RFC 9207). Each request begins a login of
 * its own. Errors are pages until the client and the redirect URI are known; later errors go to the client.
 */
export function createAuthorize(settings: AuthorizeSettings): Handler {
  return async (facts) => {
    if (facts.method === 'POST') return asGet(settings.urls.authorize, facts.form);
    const parameters = facts.query;
    const checked = await checkClient(parameters, settings.clients, addressBucket(facts.remoteAddress));
    try {
      const request = checkRequest(parameters, checked, settings);
      const prompt = readPrompt(valueOf(parameters, 'prompt'));
      const browser = await settings.browsers.open(facts.cookies);
      return await goOn(settings, { request, prompt, client: checked.client, browser, facts });
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const to = { redirect_uri: checked.redirectUri, state: stateOf(parameters) };
      return answerClient(to, settings.urls.issuer, { error: error.code, error_description: error.message });
    }
  };
}

/**
 * A browser sends no cookie with a form that another site posts, and a new cookie would end the existing login. The
 * redirect therefore makes the browser ask by GET.
 */
function asGet(url: string, form: URLSearchParams): Answer {
  const query = form.toString();
  if (query.length <= MAX_QUERY) return redirectAnswer(`${url}?${query}`);
  throw new PageError({
    status: 413,
    title: 'This request is too large',
    text: 'Go back to the application that sent you here and start again.',
  });
}

interface Asked {
  readonly request: AuthorizeLogin['request'];
  readonly prompt: Prompt;
  readonly client: Client;
  readonly browser: Browser;
  readonly facts: RequestFacts;
}

async function goOn(settings: AuthorizeSettings, asked: Asked): Promise<Answer> {
  const { chain, nextStep } = settings;
  const { request, prompt, client, browser, facts } = asked;
  const user = prompt.login ? undefined : browser.login?.user;
  const consent = consentKey(request);
  const isWaived = client.consent === 'implicit' && isWebRedirect(request.redirect_uri);
  const isRemembered =
    consent !== undefined && user !== undefined && browser.login?.consents.includes(consent) === true;
  const needsNoPage = isWaived || isRemembered;
  if (prompt.none) await checkSilent(settings, browser, needsNoPage);
  await checkLoginRate(settings, facts.remoteAddress);
  // Without a consent page, optional providers that are not linked are left out.
  const remaining = chain.providers.filter(({ required }) => required).map(({ name }) => name);
  const login = {
    ...beginLogin(settings, browser, {
      purpose: 'authorize',
      request,
      remaining,
      user,
      sub: undefined,
      forceLogin: prompt.login,
    }),
    request,
  };
  note(settings, asked);
  if (needsNoPage && !prompt.consent) return nextStep(login, browser, { silent: prompt.none });
  return showConsent(settings, login, client, browser);
}

/** Checks that a login with `prompt=none` needs no page. @throws OAuthError */
async function checkSilent(
  { storage, chain }: AuthorizeSettings,
  { login }: Browser,
  needsNoPage: boolean,
): Promise<void> {
  if (login === undefined) throw new OAuthError('login_required', 'Nobody is logged in with this browser');
  if (!needsNoPage) throw new OAuthError('interaction_required', 'The user has to be asked');
  const providers = viewChain(chain, await storage.linksOf(login.user.sub));
  if (providers.some(({ required, state }) => required && state !== 'linked')) {
    throw new OAuthError('interaction_required', 'The user has to log in at a provider');
  }
}

function note({ record }: AuthorizeSettings, { request, client, browser, facts }: Asked): void {
  record({
    type: 'auth_login_started',
    outcome: 'success',
    source: facts.remoteAddress,
    subjects: { client_name: client.client_name, ...auditSubjects(browser.login?.user) },
    details: { client_id: request.client_id },
  });
}
