import { redirectAnswer, type Answer } from '#runtime/authserver/handler';
import type { Log } from '#runtime/telemetry/log';
import { CallbackPorts } from './callback-ports.ts';
import { LoginFailed, type SharedLogin } from './shared-login.ts';
import { loginDonePage, loginFailedPage, noSuchLoginPage } from './show-outcome.ts';

interface LocalLoginsDeps {
  readonly origin: () => string;
  readonly find: (backend: string) => SharedLogin | undefined;
  readonly log: Log;
}

const CALLBACK = 'callback';

/** Logins by the person who runs this machine. They begin at a secret URL in the status, and return to the private or configured port. */
export class LocalLogins {
  readonly #deps: LocalLoginsDeps;
  readonly #ports = new CallbackPorts();

  constructor(deps: LocalLoginsDeps) {
    this.#deps = deps;
  }

  urlOf({ name, ticket }: SharedLogin): string {
    return `${this.#deps.origin()}/login/${name}/${ticket}`;
  }

  async answer(url: URL): Promise<Answer> {
    const [, , name = '', what = '', ...more] = url.pathname.split('/');
    const login = more.length === 0 ? this.#deps.find(name) : undefined;
    if (!login) return noSuchLoginPage();
    if (what === CALLBACK) return this.#finish(login, url);
    return login.isTicket(what) ? this.#begin(login) : noSuchLoginPage();
  }

  close(): void {
    this.#ports.close();
  }

  async #begin(login: SharedLogin): Promise<Answer> {
    try {
      return redirectAnswer(await login.begin(await this.#redirectUri(login)), { 'Referrer-Policy': 'no-referrer' });
    } catch (error) {
      return loginFailedPage(login.name, error, this.#deps.log);
    }
  }

  async #finish(login: SharedLogin, callback: URL): Promise<Answer> {
    try {
      await login.finish(callback);
      return loginDonePage(login.name);
    } catch (error) {
      return loginFailedPage(login.name, error, this.#deps.log);
    }
  }

  async #redirectUri(login: SharedLogin): Promise<string> {
    const { callbackPort: port, name, timeout } = login;
    if (port === undefined) return `${this.#deps.origin()}/login/${name}/${CALLBACK}`;
    try {
      return await this.#ports.open(port, timeout, (callback) => this.#finish(login, callback));
    } catch (cause) {
      const text = `Port ${port}, the callbackPort of ${name}, is in use: stop what uses it, or finish the other login.`;
      throw new LoginFailed(text, { cause });
    }
  }
}
