import type { Answer } from '../handler.ts';
import type { UserProfile } from '../storage/rows.ts';
import { html, type Html, type Part } from './html.ts';
import { pageAnswer, postForm } from './page.ts';
import { type SharedLoginView, sharedLoginRows } from './shared-logins.ts';
import { accountName, providerName, type ProviderView } from './provider-view.ts';
import type { ConnectionsFrame } from './connections-frame.ts';

interface ConnectionsView {
  readonly user: UserProfile;
  readonly providers: readonly ProviderView[];
  readonly sessions: number;
  readonly linked: string | undefined;
  /** Logins that serve all callers; undefined when the server has none. */
  readonly shared:
    | { readonly logins: readonly SharedLoginView[]; readonly subject: string; readonly done: string | undefined }
    | undefined;
}

export function connectionsPage(frame: ConnectionsFrame, view: ConnectionsView): Answer {
  const { user, providers, linked } = view;
  const notice =
    linked !== undefined &&
    html`<div class="note good" role="status">
      <p><strong>${linked} is linked.</strong> If an application sent you here, you can go back to it.</p>
    </div>`;
  const main = html`${notice}
    <h1>Your connections</h1>
    <p class="lead">You are signed in as ${accountName(user)}. ${frame.server} uses these accounts for you.</p>
    <ul class="rows">
      ${providers.map((provider) => html`<li>${row(frame, provider)}</li>`)}
    </ul>
    ${view.shared && sharedLoginRows(frame, view.shared)}
    <h2>Applications</h2>
    <p>${sessionsText(view.sessions)}</p>
    ${action(frame, { action: 'sign-out' }, html`<button class="danger">Sign out everywhere…</button>`)}`;
  return pageAnswer(frame, { title: 'Your connections', main }, frame);
}

const action = ({ urls, csrf, form }: ConnectionsFrame, hidden: Readonly<Record<string, string>>, content: Part) =>
  postForm(urls.connections, { csrf, form, ...hidden }, content);

const BADGES: Readonly<Record<ProviderView['state'], Html>> = {
  linked: html`<span class="badge good">Linked</span>`,
  needs_login: html`<span class="badge warn">Needs sign-in</span>`,
  unlinked: html`<span class="badge">Not linked</span>`,
};

function row(frame: ConnectionsFrame, provider: ProviderView): Html {
  const { name, state, account, linkedAt, required } = provider;
  const since = linkedAt !== undefined && html`${account ? ', since' : 'Since'} ${time(linkedAt)}`;
  const who = state === 'unlinked' ? html`${required ? 'Needed by your applications' : 'Optional'}` : undefined;
  const link = html`<button class="main" aria-label="${state === 'unlinked' ? 'Link' : 'Sign in again at'} ${name}">
    ${state === 'unlinked' ? 'Link' : 'Sign in again'}
  </button>`;
  const unlink = html`<button aria-label="Unlink ${name}">Unlink…</button>`;
  return html`<div>
      <p>${providerName(provider)} ${BADGES[state]}</p>
      <p class="soft">${who ?? html`${account && html`as ${accountName(account)}`}${since}`}</p>
    </div>
    <div class="buttons">
      ${state !== 'linked' && action(frame, { action: 'link', provider: name }, link)}
      ${state !== 'unlinked' && action(frame, { action: 'unlink', provider: name }, unlink)}
    </div>`;
}

function sessionsText(count: number): string {
  if (count === 0) return 'No application is signed in in your name.';
  return count === 1
    ? 'One application is signed in in your name.'
    : `${count} applications are signed in in your name.`;
}

function time(at: number): Html {
  const text = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at);
  return html`<time datetime="${new Date(at).toISOString()}">${text} UTC</time>`;
}

export function signInPage(frame: ConnectionsFrame, primary: Pick<ProviderView, 'name' | 'host'>): Answer {
  const button = html`<div class="actions"><button class="main">Sign in with ${primary.name}</button></div>`;
  const main = html`<h1>Sign in to see your connections</h1>
    <p>
      Here you see which accounts ${frame.server} uses for you, link and unlink them, and sign out of all applications.
    </p>
    <p class="soft">You will be sent to ${primary.host} and come back here.</p>
    ${action(frame, { action: 'sign-in' }, button)}`;
  return pageAnswer(frame, { title: 'Sign in', main }, frame);
}

export function confirmUnlinkPage(frame: ConnectionsFrame, provider: ProviderView, isPrimary: boolean): Answer {
  const { name, required } = provider;
  const main = html`<h1>Unlink ${name}?</h1>
    <p>${frame.server} forgets your account at ${name}, and tools that need it stop working for you.</p>
    ${
      required &&
      html`<div class="note warn">
        <p>
          <strong>${name} is required.</strong> Your applications will soon ask you to sign in again; then it is linked
          anew. ${isPrimary && 'You are signed out of this page, too, as it is where you sign in.'}
        </p>
      </div>`
    }
    ${action(frame, { action: 'unlink', provider: name, confirmed: 'yes' }, choice(frame, html`Unlink ${name}`))}`;
  return pageAnswer(frame, { title: `Unlink ${name}?`, main }, frame);
}

export function confirmSignOutPage(frame: ConnectionsFrame, sessions: number): Answer {
  const main = html`<h1>Sign out everywhere?</h1>
    <p>
      ${sessionsText(sessions)} All of them are signed out at once, all your accounts are unlinked, and every browser is
      signed out of this page.
    </p>
    ${action(frame, { action: 'sign-out', confirmed: 'yes' }, choice(frame, html`Sign out everywhere`))}`;
  return pageAnswer(frame, { title: 'Sign out everywhere?', main }, frame);
}

function choice({ urls }: ConnectionsFrame, text: Html): Html {
  return html`<div class="actions">
    <button class="danger">${text}</button>
    <a class="button" href="${urls.connections}">Keep it as it is</a>
  </div>`;
}

export function signedOutPage(frame: ConnectionsFrame): Answer {
  const main = html`<h1>You are signed out everywhere</h1>
    <p>No application can use ${frame.server} in your name any more, and no account is linked.</p>
    <p class="soft">To use it again, connect your application anew. You can close this page.</p>`;
  return pageAnswer(frame, { title: 'Signed out', main }, frame);
}

/** Shows the page of a link URL. Only the form acts, because programs open such URLs too. */
export function linkPage(
  frame: ConnectionsFrame,
  { ticket, provider, primary }: { ticket: string; provider: ProviderView; primary: ProviderView | undefined },
): Answer {
  const button = html`<div class="actions"><button class="main">Link ${provider.name}</button></div>`;
  const steps = primary
    ? `First you sign in at ${primary.name} (${primary.host}), so that it is linked to you and nobody else; then at ${provider.name} (${provider.host}).`
    : `You will be sent to ${provider.host}.`;
  const main = html`<h1>Link your ${provider.name} account</h1>
    <p>An application of yours needs your account at ${provider.name} to go on.</p>
    <p class="soft">${steps}</p>
    ${postForm(frame.urls.link, { csrf: frame.csrf, ticket }, button)}`;
  return pageAnswer(frame, { title: `Link ${provider.name}`, main }, frame);
}
