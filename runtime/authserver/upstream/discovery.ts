import * as oidc from 'openid-client';
import { clientSecretBasic } from './client-secret-basic.ts';
import { asUpstreamError } from './oidc-failure.ts';
import type { PublishedKeys } from './published-keys.ts';
import type { UpstreamAnswer, UpstreamCall, UpstreamHttp } from './upstream-http.ts';

/** Milliseconds after which the document is fetched again. The present one stays in use meanwhile. */
const MAX_AGE = 3_600_000;
/** Milliseconds before a failed provider is asked again. */
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

/** Discovery document of a provider (OpenID Connect Discovery 1.0), cached and refreshed. */
export class Discovery {
  readonly #settings: DiscoverySettings;
  #found: { readonly document: UpstreamAnswer; readonly at: number } | undefined;
  #failed: { readonly error: Error; readonly at: number } | undefined;
  #flight: Promise<UpstreamAnswer> | undefined;

  constructor(settings: DiscoverySettings) {
    this.#settings = settings;
  }

  /** Returns the configuration for one exchange. A found document stays in use until a later one is found. @throws UpstreamUnavailable */
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

  /** Fetches the document. @returns the document, checked to belong to this issuer */
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
  // `upstream-http.ts` decides for each call whether http is allowed.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
};

/** Reads the secret for each call. The provider's metadata selects how it is sent (OpenID Connect Core §9: basic by default). */
function authenticate(clientSecret: () => string | undefined): oidc.ClientAuth {
  return (server, client, body, headers) => {
    const secret = clientSecret();
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const post = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    const method = post ? oidc.ClientSecretPost : clientSecretBasic;
    (secret === undefined ? oidc.None() : method(secret))(server, client, body, headers);
  };
}

/** Returns the normalized URL of the keys. The document was parsed before. */
function keysUrlOf({ text }: UpstreamAnswer): string | undefined {
  const { jwks_uri: url } = JSON.parse(text) as { jwks_uri?: unknown };
  return typeof url === 'string' ? URL.parse(url)?.href : undefined;
}

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
