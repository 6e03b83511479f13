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
  readonly sharedLogins: () => readonly SharedLogin[];
  readonly changed: (sub: string) => void;
}

export function connectionsFrame({ urls, frame }: ConnectionsSettings, browser: Browser): ConnectionsFrame {
  return { ...frame, urls, csrf: browser.csrf, form: newId(), headers: browser.headers };
}

/** Without a browser login, the form may come from another tab that got its own cookie at the same time. @throws PageError */
export function checkForm(browser: Browser, facts: RequestFacts): void {
  const isOtherTab = browser.login === undefined && !browser.isNew && isFromOwnPage(facts);
  if (facts.form.get('csrf') === browser.csrf || isOtherTab) return;
  throw new PageError({
    status: 400,
    title: 'This page is out of date',
    text: 'Somebody signed in or out with this browser since it was shown. Nothing was changed. Open your connections again.',
  });
}
