import type { Answer } from '../handler.ts';
import type { ConnectionsFrame } from './connections-frame.ts';
import { html, type Html } from './html.ts';
import { pageAnswer, postForm } from './page.ts';

export interface SharedLoginView {
  readonly name: string;
  readonly isLoggedIn: boolean;
}

export function sharedLoginRows(
  frame: ConnectionsFrame,
  { logins, subject, done }: { logins: readonly SharedLoginView[]; subject: string; done: string | undefined },
): Html {
  const notice =
    done !== undefined &&
    html`<div class="note good" role="status">
      <p><strong>You are logged in at ${done}.</strong> It is used with this login for everybody who may call it.</p>
    </div>`;
  const rows = html`<p>These servers are used with one login for everybody who may call them.</p>
    <ul class="rows">
      ${logins.map((login) => html`<li>${row(frame, login)}</li>`)}
    </ul>`;
  return html`<h2>Logins for everybody</h2>
    ${notice} ${logins.length === 0 ? html`<p>They are done by administrators.</p>` : rows}
    <p class="soft">Your subject here: <code>${subject}</code></p>`;
}

function row(frame: ConnectionsFrame, { name, isLoggedIn }: SharedLoginView): Html {
  const badge = isLoggedIn
    ? html`<span class="badge good">Logged in</span>`
    : html`<span class="badge warn">Needs a login</span>`;
  const text = isLoggedIn ? 'Log in again' : 'Log in';
  const begin = html`<button class="main" aria-label="${text} at ${name}">${text}</button>`;
  const end = html`<button aria-label="End the login at ${name}">End…</button>`;
  const form = (action: string, content: Html) =>
    postForm(frame.urls.connections, { csrf: frame.csrf, action, backend: name }, content);
  return html`<div>
      <p><bdi>${name}</bdi> ${badge}</p>
    </div>
    <div class="buttons">${form('begin-login', begin)} ${isLoggedIn && form('end-login', end)}</div>`;
}

export function confirmEndPage(frame: ConnectionsFrame, name: string): Answer {
  const fields = { csrf: frame.csrf, action: 'end-login', backend: name, confirmed: 'yes' };
  const choice = html`<div class="actions">
    <button class="danger">End the login at ${name}</button>
    <a class="button" href="${frame.urls.connections}">Keep it as it is</a>
  </div>`;
  const main = html`<h1>End the login at ${name}?</h1>
    <p>
      ${frame.server} forgets it, and the tools of ${name} stop working for everybody until an administrator logs in
      again.
    </p>
    ${postForm(frame.urls.connections, fields, choice)}`;
  return pageAnswer(frame, { title: `End the login at ${name}?`, main }, frame);
}
