import { redirectAnswer, type Answer } from '#runtime/authserver/handler';
import type { Log } from '#runtime/telemetry/log';
import { CallbackPorts } from './callback-ports.ts';
import { LoginFailed, type SharedLogin } from './shared-login.ts';
import { loginDonePage, loginFailedPage, noSuchLoginPage } from './show-outcome.ts';

interface LocalLoginsDeps {
  /** Returns the origin of the private port on this machine. */
  readonly origin: () => string;
  /** Returns the login of a backend, if it has one. */
  readonly find: (backend: string) => SharedLogin | undefined;
  readonly log: Log;
}

const CALLBACK = 'callback';

/**
 * Logins at remote servers by the person who runs this machine. They begin at a secret URL in the status, and return to the private port
 * or to the configured port.
 */
export class LocalLogins {
  readonly #deps: LocalLoginsDeps;
  readonly #ports = new CallbackPorts();

  constructor(deps: LocalLoginsDeps) {
    this.#deps = deps;
  }

  /** Returns the URL at which the login of a backend begins. */
  urlOf({ name, ticket }: SharedLogin): string {
    return `${this.#deps.origin()}/login/${name}/${ticket}`;
  }

  /** Answers a GET of a path below /login/. */
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
