import * as oidc from 'openid-client';
import { asUpstreamError } from './oidc-failure.ts';
import type { PublishedKeys } from './published-keys.ts';
import type { UpstreamAnswer, UpstreamCall, UpstreamHttp } from './upstream-http.ts';

/** Milliseconds after which the document is fetched again, while the present one serves. */
const MAX_AGE = 3_600_000;
/** A provider that did not answer is not asked again so soon. */
const COOL_DOWN = 1_000;

interface DiscoverySettings {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly http: UpstreamHttp;
  readonly keys: PublishedKeys;
  readonly clientSecret: () => string | undefined;
  readonly now: () => number;
}

/** What the provider publishes about itself (OpenID Connect Discovery 1.0), remembered and fetched again in time. */
export class Discovery {
  readonly #settings: DiscoverySettings;
  #found: { readonly document: UpstreamAnswer; readonly at: number } | undefined;
  #failed: { readonly error: Error; readonly at: number } | undefined;
  #flight: Promise<UpstreamAnswer> | undefined;

  constructor(settings: DiscoverySettings) {
    this.#settings = settings;
  }

  /**
   * For one exchange with the provider. A document that was found serves until a later one is.
   * @throws UpstreamUnavailable
   */
  async get(): Promise<oidc.Configuration> {
    if (this.#found === undefined) return this.#configure(await this.#fetch());
    if (this.#settings.now() - this.#found.at > MAX_AGE) this.#fetch().catch(() => undefined);
    return this.#configure(this.#found.document);
  }

  #fetch(): Promise<UpstreamAnswer> {
    const now = this.#settings.now();
    if (this.#failed !== undefined && now - this.#failed.at < COOL_DOWN) return Promise.reject(this.#failed.error);
    return (this.#flight ??= this.#discover()
      .then((document) => {
        this.#failed = undefined;
        this.#found = { document, at: this.#settings.now() };
        return document;
      })
      .catch((error: unknown) => {
        const failure = asUpstreamError(this.#settings.name, 'discovery', error);
        this.#failed = { error: failure, at: this.#settings.now() };
        throw failure;
      })
      .finally(() => {
        this.#flight = undefined;
      }));
  }

  /** @returns the document, which is this issuer's */
  async #discover(): Promise<UpstreamAnswer> {
    const { issuer, clientId, http } = this.#settings;
    const answers: UpstreamAnswer[] = [];
    await oidc.discovery(new URL(issuer), clientId, undefined, undefined, {
      ...RULES,
      [oidc.customFetch]: async (url, { headers }) => {
        const answer = await http.call(url, { method: 'GET', headers });
        answers.push(answer);
        return toResponse(answer);
      },
    });
    const [document] = answers;
    if (document === undefined) throw new TypeError('discovery without a call');
    return document;
  }

  #configure(document: UpstreamAnswer): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    return oidc.discovery(new URL(issuer), clientId, undefined, authenticate(clientSecret), {
      ...RULES,
      [oidc.customFetch]: this.#exchange(document),
    });
  }

  /** Calls of one exchange: the document and the keys are those that are remembered. */
  #exchange(document: UpstreamAnswer): oidc.CustomFetch {
    const { http, keys } = this.#settings;
    const keysUrl = keysUrlOf(document);
    let isFirst = true;
    let signed: UpstreamAnswer | undefined;
    return async (url, { method, headers, body }) => {
      if (isFirst) {
        isFirst = false;
        return toResponse(document);
      }
      if (method === 'GET' && url === keysUrl) return toResponse(await keys.get(url, signed));
      signed = await http.call(url, { ...toCall(method, body), headers });
      return toResponse(signed);
    };
  }
}

const RULES: oidc.DiscoveryRequestOptions = {
  // Which URLs may be called over http is decided for each call.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
};

/** The secret as it is when it is needed; how it is sent says the provider (OpenID Connect Core §9: basic unless it says more). */
function authenticate(clientSecret: () => string | undefined): oidc.ClientAuth {
  return (server, client, body, headers) => {
    const secret = clientSecret();
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const post = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    const method = post ? oidc.ClientSecretPost : oidc.ClientSecretBasic;
    (secret === undefined ? oidc.None() : method(secret))(server, client, body, headers);
  };
}

/** As it is called; the document was read before. */
function keysUrlOf({ text }: UpstreamAnswer): string | undefined {
  const { jwks_uri: url } = JSON.parse(text) as { jwks_uri?: unknown };
  return typeof url === 'string' ? URL.parse(url)?.href : undefined;
}

/** An answer as openid-client takes it. */
export function toResponse({ status, headers, text }: UpstreamAnswer): Response {
  const shown = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) shown.append(name, one);
  }
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : text, { status, headers: shown });
}

function toCall(method: string, body: oidc.FetchBody): Omit<UpstreamCall, 'headers'> {
  if (method !== 'POST') return { method: 'GET' };
  return { method, body: body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : '' };
}
