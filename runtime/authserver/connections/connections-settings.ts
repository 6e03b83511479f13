import type { Audit } from '#runtime/audit/audit';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import type { Browser, Browsers } from '../browser/browsers.ts';
import type { RepeatAnswer } from '../browser/repeat-answer.ts';
import { isFromOwnPage } from '../browser/own-page.ts';
import type { LoginRowSettings } from '../login/login-rows.ts';
import type { RequestFacts } from '../handler.ts';
import { newId } from '../ids.ts';
import type { NextStep } from '../login/next-step.ts';
import { PageError } from '../page-error.ts';
import type { ConnectionsFrame } from '../pages/connections-frame.ts';
import type { PageFrame } from '../pages/page.ts';
import type { Chain } from '../chain.ts';
import type { AuthServerUrls } from '../urls.ts';

export interface ConnectionsSettings extends LoginRowSettings {
  readonly urls: Pick<AuthServerUrls, 'connections' | 'link' | 'sharedCallback'>;
  readonly frame: PageFrame;
  readonly chain: Chain;
  readonly browsers: Browsers;
  readonly nextStep: NextStep;
  readonly repeatAnswer: RepeatAnswer;
  readonly record: Audit['record'];
  /** Logins at remote servers, as they are now. */
  readonly sharedLogins: () => readonly SharedLogin[];
  /** Told of a user whose links or sessions changed. */
  readonly changed: (sub: string) => void;
}

/** What the pages around the connections show this browser. */
export function connectionsFrame({ urls, frame }: ConnectionsSettings, browser: Browser): ConnectionsFrame {
  return { ...frame, urls, csrf: browser.csrf, form: newId(), headers: browser.headers };
}

/**
 * Checks that a form of these pages was made for the browser that posts it. Without a browser login, it may be of another tab that got
 * a cookie of its own at the same time.
 * @throws PageError: it was not made for the browser as it is now
 */
export function checkForm(browser: Browser, facts: RequestFacts): void {
  const isOtherTab = browser.login === undefined && !browser.isNew && isFromOwnPage(facts);
  if (facts.form.get('csrf') === browser.csrf || isOtherTab) return;
  throw new PageError({
    status: 400,
    title: 'This page is out of date',
    text: 'Somebody signed in or out with this browser since it was shown. Nothing was changed. Open your connections again.',
  });
}
