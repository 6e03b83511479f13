import * as oidc from 'openid-client';
import { asUpstreamError } from './oidc-failure.ts';
import type { UpstreamCall, UpstreamHttp } from './upstream-http.ts';

/** Milliseconds after which the document is fetched again, while the present one serves. */
const MAX_AGE = 3_600_000;
/** A provider that did not answer is not asked again so soon. */
const COOL_DOWN = 1_000;

export interface DiscoverySettings {
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly http: UpstreamHttp;
  readonly clientSecret: () => string | undefined;
  readonly now: () => number;
}

/** What the provider publishes about itself (OpenID Connect Discovery 1.0), remembered and fetched again in time. */
export class Discovery {
  readonly #settings: DiscoverySettings;
  #found: { readonly config: oidc.Configuration; readonly at: number } | undefined;
  #failed: { readonly error: Error; readonly at: number } | undefined;
  #flight: Promise<oidc.Configuration> | undefined;

  constructor(settings: DiscoverySettings) {
    this.#settings = settings;
  }

  /** One that was found serves until a later one is. @throws UpstreamUnavailable */
  async get(): Promise<oidc.Configuration> {
    if (this.#found === undefined) return this.#fetch();
    if (this.#settings.now() - this.#found.at > MAX_AGE) this.#fetch().catch(() => undefined);
    return this.#found.config;
  }

  /** Keys are fetched again at once, as one was unknown. */
  forget(): void {
    this.#found = undefined;
  }

  #fetch(): Promise<oidc.Configuration> {
    const now = this.#settings.now();
    if (this.#failed !== undefined && now - this.#failed.at < COOL_DOWN) return Promise.reject(this.#failed.error);
    return (this.#flight ??= this.#discover()
      .then((config) => {
        this.#failed = undefined;
        this.#found = { config, at: this.#settings.now() };
        return config;
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

  #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, http, clientSecret } = this.#settings;
    return oidc.discovery(new URL(issuer), clientId, undefined, authenticate(clientSecret), {
      // Which URLs may be called over http is decided for each call.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
      [oidc.customFetch]: fetchWith(http),
    });
  }
}

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

function fetchWith(http: UpstreamHttp): oidc.CustomFetch {
  return async (url, { method, headers, body }) => {
    const { status, headers: answered, text } = await http.call(url, { ...toCall(method, body), headers });
    const shown = new Headers();
    for (const [name, value] of Object.entries(answered)) {
      for (const one of [value ?? []].flat()) shown.append(name, one);
    }
    const empty = status === 204 || status === 205 || status === 304;
    return new Response(empty ? null : text, { status, headers: shown });
  };
}

function toCall(method: string, body: oidc.FetchBody): Omit<UpstreamCall, 'headers'> {
  if (method !== 'POST') return { method: 'GET' };
  return { method, body: body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : '' };
}
