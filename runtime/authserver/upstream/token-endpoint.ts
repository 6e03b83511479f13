import { basicCredentials } from '#runtime/http/basic-credentials';
import { errorIn, parseDocument, readDocument, type Document } from './token-answer.ts';
import { isAboutClient } from './upstream-errors.ts';
import type { UpstreamAnswer, UpstreamHttp } from './upstream-http.ts';

interface TokenEndpointSettings {
  readonly name: string;
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: () => string | undefined;
  readonly http: UpstreamHttp;
}

type Form = Readonly<Record<string, string>>;

/** Without discovery, the place of the client secret is unknown. The body comes first, then the header; the successful way is kept. */
export class TokenEndpoint {
  readonly #settings: TokenEndpointSettings;
  #inHeader = false;

  constructor(settings: TokenEndpointSettings) {
    this.#settings = settings;
  }

  /** Posts a form with the client's credentials. @throws UpstreamRefused, UpstreamUnavailable */
  async ask(form: Form): Promise<Document> {
    const secret = this.#settings.clientSecret();
    const first = await this.#post(form, secret, this.#inHeader);
    if (secret === undefined || !isClientRefused(first)) return readDocument(this.#settings.name, 'token', first);
    const second = await this.#post(form, secret, !this.#inHeader);
    if (!isClientRefused(second)) this.#inHeader = !this.#inHeader;
    return readDocument(this.#settings.name, 'token', second);
  }

  #post(form: Form, secret: string | undefined, inHeader: boolean): Promise<UpstreamAnswer> {
    const { url, clientId, http } = this.#settings;
    const isHeader = inHeader && secret !== undefined;
    const client = isHeader ? {} : { client_id: clientId, ...(secret !== undefined && { client_secret: secret }) };
    return http.call(url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...(isHeader && { authorization: basicCredentials(clientId, secret) }),
      },
      body: new URLSearchParams({ ...form, ...client }).toString(),
    });
  }
}

function isClientRefused({ status, headers, text }: UpstreamAnswer): boolean {
  const document = parseDocument(text, headers['content-type'] ?? '');
  return isAboutClient(document && errorIn(document), status);
}
