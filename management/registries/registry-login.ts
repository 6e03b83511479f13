import * as oidc from 'openid-client';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { failureOfIssuer } from './discover-issuer.ts';
import type { RegistrySettings } from './registry-settings.ts';

type Auth = NonNullable<RegistrySettings['auth']>;

export interface PendingLogin {
  verification_uri: string;
  user_code: string;
  /** RFC 3339. */
  expires_at: string;
}

interface LoginOptions {
  auth: Auth;
  configuration: () => Promise<oidc.Configuration>;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Milliseconds before its expiry in which a token is no longer used, as it may expire in transit. */
const MARGIN = 30_000;
const USUAL_LIFESPAN = 300;
/** Seconds: maximum duration of a device login, and maximum poll interval. The minimum of both is one second. */
const LONGEST_LOGIN = 3_600;
const LONGEST_INTERVAL = 60;

interface Token {
  value: string;
  until: number;
  refresh: string | undefined;
}

/** Uses client credentials with a secret, else a device login (RFC 8628). Keeps tokens only in memory. */
export class RegistryLogin {
  readonly #options: LoginOptions;
  readonly #ended = new AbortController();
  #token: Token | undefined;
  #flight: Promise<Token> | undefined;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  get isLoggedIn(): boolean {
    return this.#token !== undefined;
  }

  /** Returns undefined if a user has to log in. @throws FetchFailure */
  async authorization(): Promise<string | undefined> {
    const live = this.#token;
    if (live && live.until > this.#options.now()) return `Bearer ${live.value}`;
    if (live?.refresh === undefined && this.#options.auth.client_secret_ref === undefined) {
      this.#token = undefined;
      return undefined;
    }
    this.#flight ??= this.#renew(live).finally(() => (this.#flight = undefined));
    return `Bearer ${(await this.#flight).value}`;
  }

  /** Invalidates a token that the registry rejects. */
  drop(): void {
    if (this.#token) this.#token = { ...this.#token, until: 0 };
  }

  /** Continues in the background, and calls `finished` on a token. @throws FetchFailure `refused`: no device login */
  async begin(finished: () => void): Promise<PendingLogin> {
    const { auth, now } = this.#options;
    const configuration = await this.#options.configuration();
    if (configuration.serverMetadata().device_authorization_endpoint === undefined)
      throw new FetchFailure(
        'refused',
        `${auth.issuer} offers no login on another device; write auth.client_secret_ref`,
      );
    const device = await oidc
      .initiateDeviceAuthorization(configuration, requestOf(auth))
      .then(bound, (error: unknown) => {
        throw failureOfIssuer(error, auth.issuer);
      });
    const deadline = AbortSignal.timeout(device.expires_in * 1_000);
    const signal = AbortSignal.any([this.#ended.signal, deadline]);
    void oidc.pollDeviceAuthorizationGrant(configuration, device, undefined, { signal }).then(
      (answer) => {
        this.#token = this.#read(answer, undefined);
        finished();
      },
      () => undefined,
    );
    return {
      verification_uri: device.verification_uri_complete ?? device.verification_uri,
      user_code: device.user_code,
      expires_at: new Date(now() + device.expires_in * 1_000).toISOString(),
    };
  }

  close(): void {
    this.#ended.abort();
  }

  async #renew(live: Token | undefined): Promise<Token> {
    const { auth } = this.#options;
    const configuration = await this.#options.configuration();
    try {
      const answer =
        auth.client_secret_ref === undefined
          ? await oidc.refreshTokenGrant(configuration, live?.refresh ?? '')
          : await oidc.clientCredentialsGrant(configuration, requestOf(auth));
      return (this.#token = this.#read(answer, live?.refresh));
    } catch (error) {
      if (error instanceof oidc.ResponseBodyError) this.#token = undefined;
      throw failureOfIssuer(error, auth.issuer);
    }
  }

  #read(answer: oidc.TokenEndpointResponse, refresh: string | undefined): Token {
    const lifespan = (answer.expires_in ?? USUAL_LIFESPAN) * 1_000;
    return {
      value: answer.access_token,
      until: this.#options.now() + Math.max(lifespan - MARGIN, lifespan / 2),
      refresh: answer.refresh_token ?? refresh,
    };
  }
}

function bound(device: oidc.DeviceAuthorizationResponse): oidc.DeviceAuthorizationResponse {
  const within = (seconds: number, most: number): number => Math.ceil(Math.min(Math.max(seconds, 1), most));
  const { interval, expires_in: lifespan } = device;
  return {
    ...device,
    expires_in: within(lifespan, LONGEST_LOGIN),
    ...(interval !== undefined && { interval: within(interval, LONGEST_INTERVAL) }),
  };
}

function requestOf({ scopes, audience }: Auth): Record<string, string> {
  return { ...(scopes && { scope: scopes.join(' ') }), ...(audience !== undefined && { audience }) };
}
