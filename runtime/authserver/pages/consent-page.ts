import type { Answer } from '../handler.ts';
import type { RedirectTarget } from './describe-redirect.ts';
import type { UserProfile } from '../storage/rows.ts';
import { html, type Html } from './html.ts';
import { pageAnswer, postForm, type PageFrame } from './page.ts';
import { accountName, providerName, type ProviderView } from './provider-view.ts';
import { scopeText } from './scope-texts.ts';

interface ConsentView {
  readonly action: string;
  readonly ticket: string;
  readonly connections: string;
  readonly clientName: string | undefined;
  /** The administrator vouches for the name. */
  readonly isVerified: boolean;
  /** Host of the client's metadata document. The client controls this host. */
  readonly clientHost: string | undefined;
  readonly redirect: RedirectTarget;
  readonly scope: readonly string[];
  readonly user: UserProfile | undefined;
  readonly providers: readonly ProviderView[];
  readonly primary: string;
}

export function consentPage(frame: PageFrame, view: ConsentView, headers: Answer['headers']): Answer {
  const main = html`<h1>${clientNameOf(view)} wants to use ${frame.server} in your name</h1>
    <p class="lead">Allow it only if you have just asked for this in an application that you know.</p>
    ${facts(view)} ${warning(view.redirect)}
    <h2>It would be able to</h2>
    <ul class="ticks">
      ${view.scope.map((scope) => html`<li>${scopeText(scope, frame.server)}</li>`)}
    </ul>
    ${postForm(view.action, { ticket: view.ticket }, html`${accounts(view)} ${buttons(view.user)}`)}`;
  const footer = html`You can take this back at any time: <a href="${view.connections}">your connections</a>.`;
  return pageAnswer(frame, { title: 'Allow access?', main, footer }, { headers });
}

function clientNameOf({ clientName, clientHost }: ConsentView): Html {
  return clientName === undefined ? html`${clientHost ?? 'An application'}` : html`“<bdi>${clientName}</bdi>”`;
}

function facts({ clientName, clientHost, isVerified, redirect }: ConsentView): Html {
  const described = clientHost !== undefined && html`<br /><small>described at ${clientHost}</small>`;
  return html`<dl class="facts">
    <div>
      <dt>Application</dt>
      <dd>
        <strong><bdi>${clientName ?? 'It gave no name'}</bdi></strong>
        ${nameBadge(isVerified)}${described}
      </dd>
    </div>
    <div>
      <dt>Sends you back to</dt>
      <dd><strong>${redirect.host}</strong><br /><small>${redirect.uri}</small></dd>
    </div>
  </dl>`;
}

function nameBadge(isVerified: boolean): Html {
  return isVerified
    ? html`<span class="badge good">Verified by the administrator</span>`
    : html`<span class="badge warn">Name not verified</span>`;
}

function warning({ kind }: RedirectTarget): Html | undefined {
  if (kind === 'web') return undefined;
  return html`<div class="note warn">
    <p>
      <strong>That is ${kind === 'loopback' ? 'a program' : 'an app'} on this device.</strong> Any program here could
      have asked. Go on only if you started this.
    </p>
  </div>`;
}

function accounts({ user, providers, primary }: ConsentView): Html {
  // The links are known only when the user is.
  const isKnown = (name: string) => user !== undefined || name === primary;
  return html`<h2>${user ? 'With your accounts' : 'You will sign in with'}</h2>
    <ul class="rows">
      ${providers.map((provider) => html`<li>${account(provider, isKnown(provider.name))}</li>`)}
    </ul>`;
}

function nextThere(state: ProviderView['state'], isKnown: boolean): string {
  if (state === 'needs_login') return 'It wants you to sign in again';
  return isKnown
    ? 'You are asked to sign in there next'
    : 'You are asked to sign in there, unless it is already linked';
}

function account(provider: ProviderView, isKnown: boolean): Html {
  const { name, required, state, account: who } = provider;
  if (state === 'linked') {
    const text = who ? html`as ${accountName(who)}` : html`Linked`;
    return html`<div>
        <p>${providerName(provider)}</p>
        <p class="soft">${text}</p>
      </div>
      <span class="badge good">Linked</span>`;
  }
  const badge = state === 'needs_login' ? html`<span class="badge warn">Needs sign-in</span>` : undefined;
  if (required) {
    return html`<div>
        <p>${providerName(provider)}</p>
        <p class="soft">${nextThere(state, isKnown)}</p>
      </div>
      ${badge}`;
  }
  return html`<label>
      <input type="checkbox" name="link" value="${name}" checked />
      <span>${providerName(provider)}<br /><small>Optional: link it now, or later at your connections</small></span>
    </label>
    ${badge}`;
}

/** Allow comes first, because the Enter key activates the first button of a form. */
function buttons(user: ConsentView['user']): Html {
  const signedIn =
    user &&
    html`<div class="who">
      <span>You are signed in as ${accountName(user)}.</span>
      <button class="link" name="decision" value="switch">Use another account</button>
    </div>`;
  return html`<div class="actions">
      <button class="main" name="decision" value="allow">Allow</button>
      <button name="decision" value="deny">Deny</button>
    </div>
    ${signedIn}`;
}
