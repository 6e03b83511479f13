import type { Outcome } from '#runtime/request-record';
import type { Audit } from '#runtime/audit/audit';
import { auditSubjects } from '../audit-subjects.ts';
import { answerClient } from '../authorize/answer-client.ts';
import type { Browser, Browsers } from '../browser/browsers.ts';
import { isFromOwnPage } from '../browser/own-page.ts';
import { checkLoginRate } from '../login/check-login-rate.ts';
import { takeLogin } from '../login/login-rows.ts';
import type { Answer, Handler, RequestFacts } from '../handler.ts';
import type { NextStep } from '../login/next-step.ts';
import { PageError } from '../page-error.ts';
import { DocumentUnusable } from '../register/client-documents.ts';
import type { Client } from '../register/client.ts';
import type { Clients } from '../register/find-client.ts';
import { consentKey } from './consent-key.ts';
import { showConsent, type AuthorizeLogin, type ConsentSettings } from './show-consent.ts';

interface DecisionSettings extends ConsentSettings {
  readonly browsers: Browsers;
  readonly clients: Clients;
  readonly nextStep: NextStep;
  readonly record: Audit['record'];
}

const DECISIONS = ['allow', 'deny', 'switch'] as const;
type Decision = (typeof DECISIONS)[number];

/** Ticket and cookie together prove that the person saw that page in this browser. */
export function createDecideConsent(settings: DecisionSettings): Handler {
  return async (facts) => {
    const decision = DECISIONS.find((one) => facts.form.get('decision') === one);
    if (decision === undefined) throw noDecision();
    const browser = await settings.browsers.open(facts.cookies);
    const form = { endpoint: 'consent', browser, content: [...facts.form] };
    return settings.repeatAnswer(form, () => decide(settings, decision, browser, facts));
  };
}

async function decide(
  settings: DecisionSettings,
  decision: Decision,
  browser: Browser,
  facts: RequestFacts,
): Promise<Answer> {
  // Each switch stores a page for a while, so an unlimited number of switches would fill the storage.
  if (decision === 'switch') await checkLoginRate(settings, facts.remoteAddress);
  const ticket = facts.form.get('ticket') ?? '';
  const awaited = { ticket, step: 'consent', browser, isFromOwnPage: isFromOwnPage(facts) } as const;
  const { request, ...row } = await takeLogin(settings, awaited);
  if (request === undefined) throw new TypeError('a consent page without a request');
  const login = { ...row, request };
  // The browser login changed after the page was made, so the page named the wrong accounts.
  const isOutdated = login.user !== undefined && login.user.sub !== browser.login?.user.sub;
  if (decision !== 'deny' && isOutdated) return askAgain(settings, { ...login, user: browser.login?.user }, browser);
  return act[decision](settings, login, browser, facts);
}

type Act = (
  settings: DecisionSettings,
  login: AuthorizeLogin,
  browser: Browser,
  facts: RequestFacts,
) => Promise<Answer>;

const act: Record<Decision, Act> = {
  async allow(settings, login, browser, facts) {
    const { chain, browsers, nextStep } = settings;
    note(settings, 'success', login, facts);
    const chosen = new Set(facts.form.getAll('link'));
    const remaining = chain.providers.filter(({ name, required }) => required || chosen.has(name));
    const consent = consentKey(login.request);
    if (consent !== undefined && login.user !== undefined) await browsers.remember(browser, consent);
    return nextStep({ ...login, remaining: remaining.map(({ name }) => name) }, browser);
  },

  deny(settings, login, _browser, facts) {
    note(settings, 'denied', login, facts);
    const response = { error: 'access_denied', error_description: 'The user did not allow it' } as const;
    return Promise.resolve(answerClient(login.request, settings.urls.issuer, response));
  },

  switch: (settings, login, browser) => askAgain(settings, { ...login, user: undefined, force_login: true }, browser),
};

async function askAgain(settings: DecisionSettings, login: AuthorizeLogin, browser: Browser): Promise<Answer> {
  const { client_id, redirect_uri } = login.request;
  const client = await findAgain(settings, client_id);
  const nameless = { client_id, client_name: undefined, redirect_uris: [redirect_uri] };
  return showConsent(settings, login, client ?? nameless, browser);
}

/** Finds the client, which was checked when the login began. An unavailable metadata document does not end the login. */
async function findAgain({ clients }: DecisionSettings, clientId: string): Promise<Client | undefined> {
  try {
    return await clients.find(clientId);
  } catch (error) {
    if (error instanceof DocumentUnusable) return undefined;
    throw error;
  }
}

function note(
  { record }: DecisionSettings,
  outcome: Outcome,
  { request, user }: AuthorizeLogin,
  { remoteAddress: source }: RequestFacts,
): void {
  const details = { client_id: request.client_id, scope: request.scope };
  record({ type: 'auth_consent', outcome, source, subjects: auditSubjects(user), details });
}

function noDecision(): PageError {
  return new PageError({
    status: 400,
    title: 'Nothing was chosen',
    text: 'Go back and choose Allow or Deny, or start again from your application.',
  });
}
