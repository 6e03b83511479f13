import { StorageUnavailable } from '#runtime/authserver/storage/storage';
import type { Answer } from '#runtime/authserver/handler';
import { html } from '#runtime/authserver/pages/html';
import { pageAnswer } from '#runtime/authserver/pages/page';
import type { Log } from '#runtime/telemetry/log';
import { LoginFailed } from './shared-login.ts';

export function loginDonePage(backend: string): Answer {
  const main = html`<h1>You are logged in</h1>
    <p>${backend} is used with this login from now on, for everybody who may call it. You can close this page.</p>`;
  return pageAnswer({ server: backend }, { title: 'Logged in', main });
}

export function loginFailedPage(backend: string, error: unknown, log: Log): Answer {
  const isForeseen = error instanceof LoginFailed || error instanceof StorageUnavailable;
  if (!isForeseen) log.error('a login at a remote server failed unexpectedly', { backend, error });
  const text = error instanceof LoginFailed ? error.message : 'It is not available at the moment: try again.';
  const main = html`<h1>The login did not succeed</h1>
    <p>${text}</p>`;
  return pageAnswer({ server: backend }, { title: 'Not logged in', main }, { status: isForeseen ? 400 : 500 });
}

export function noSuchLoginPage(): Answer {
  const main = html`<h1>There is no such login</h1>
    <p>This address is of an earlier start. <code>vmcp status</code> shows the present one.</p>`;
  return pageAnswer({ server: 'vmcp' }, { title: 'No such login', main }, { status: 404 });
}
