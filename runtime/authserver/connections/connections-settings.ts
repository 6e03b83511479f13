import type { Audit } from '#runtime/audit/audit';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import type { Browser, Browsers } from '../browser/browsers.ts';
import { isFromOwnPage } from '../browser/own-page.ts';
import type { LoginRowSettings } from '../login/login-rows.ts';
import type { RequestFacts } from '../handler.ts';
import type { NextStep } from '../login/next-step.ts';
import { PageError } from '../page-error.ts';
import type { ConnectionsFrame } from '../pages/connections-page.ts';
import type { PageFrame } from '../pages/page.ts';
import type { Chain } from '../chain.ts';
import type { AuthServerUrls } from '../urls.ts';

export interface ConnectionsSettings extends LoginRowSettings {
  readonly urls: Pick<AuthServerUrls, 'connections' | 'link' | 'sharedCallback'>;
  readonly frame: PageFrame;
  readonly chain: Chain;
  readonly browsers: Browsers;
  readonly nextStep: NextStep;
  readonly record: Audit['record'];
  /** Logins at remote servers, as they are now. */
  readonly sharedLogins: () => readonly SharedLogin[];
  /** Told of a user whose links or sessions changed. */
  readonly changed: (sub: string) => void;
}

/** What the pages around the connections show this browser. */
export function connectionsFrame({ urls, frame }: ConnectionsSettings, browser: Browser): ConnectionsFrame {
  return { ...frame, urls, csrf: browser.csrf, headers: browser.headers };
}

/**
 * The browser that posts a form of these pages. While nobody is logged in, it may be of another tab that got a cookie of its own at the
 * same time.
 * @throws PageError: the form was not made for it as it is now
 */
export async function openForm({ browsers }: ConnectionsSettings, facts: RequestFacts): Promise<Browser> {
  const browser = await browsers.open(facts.cookies);
  const isOtherTab = browser.login === undefined && !browser.isNew && isFromOwnPage(facts);
  if (facts.form.get('csrf') === browser.csrf || isOtherTab) return browser;
  throw new PageError({
    status: 400,
    title: 'This page is out of date',
    text: 'Somebody signed in or out with this browser since it was shown. Nothing was changed. Open your connections again.',
  });
}
