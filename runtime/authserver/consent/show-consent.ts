import type { Browser } from '../browser/browsers.ts';
import type { RepeatAnswer } from '../browser/repeat-answer.ts';
import { putLogin, type LoginRowSettings } from '../login/login-rows.ts';
import type { Answer } from '../handler.ts';
import { consentPage } from '../pages/consent-page.ts';
import type { PageFrame } from '../pages/page.ts';
import { viewChain, type Chain } from '../chain.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import type { Client } from '../register/client.ts';
import type { AuthServerUrls } from '../urls.ts';
import type { AuthorizeRequest, LoginRow } from '../storage/rows.ts';
import { describeRedirect } from '../pages/describe-redirect.ts';

export interface ConsentSettings extends LoginRowSettings {
  readonly urls: Pick<AuthServerUrls, 'issuer' | 'authorize' | 'consent' | 'connections'>;
  readonly frame: PageFrame;
  readonly chain: Chain;
  readonly repeatAnswer: RepeatAnswer;
}

export type AuthorizeLogin = LoginRow & { readonly request: AuthorizeRequest };

export async function showConsent(
  settings: ConsentSettings,
  login: AuthorizeLogin,
  client: Client,
  browser: Browser,
): Promise<Answer> {
  const { storage, urls, frame, chain } = settings;
  const { user } = login;
  const named = isDocumentUrl(client.client_id) && { client_name: client.client_name };
  const request = { ...login.request, ...named };
  const links = user === undefined ? {} : await storage.linksOf(user.sub);
  const ticket = await putLogin(settings, { ...login, request, step: 'consent' });
  const view = {
    action: urls.consent,
    ticket,
    connections: urls.connections,
    clientName: client.client_name,
    isVerified: client.isVerified === true,
    clientHost: isDocumentUrl(client.client_id) ? new URL(client.client_id).host : undefined,
    redirect: describeRedirect(request.redirect_uri),
    scope: request.scope,
    user,
    providers: viewChain(chain, links),
    primary: chain.primary.name,
  };
  return consentPage(frame, view, browser.headers);
}
