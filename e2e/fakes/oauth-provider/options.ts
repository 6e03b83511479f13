/** Variations of this provider; real providers have each of them. */
export interface OAuthProviderOptions {
  readonly port?: number;
  /** Address to listen on, by which browsers separate cookies. */
  readonly host?: string;
  /** Publishes discovery and keys, and issues ID tokens. */
  readonly oidc?: boolean;
  /** `nested`: tokens and user below `authed_user`; `form`: form-encoded, regardless of the accept header. */
  readonly answers?: 'plain' | 'nested' | 'form';
  /** Additional members of token answers, which override the usual ones. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Errors of the token endpoint come with HTTP 200. */
  readonly errorsAt200?: boolean;
  /** Whether logins issue a refresh token, and whether a refresh replaces it. */
  readonly refresh?: 'none' | 'keeps' | 'rotates';
  /** Seconds; undefined: tokens do not expire, and answers have no expiry. */
  readonly expiresIn?: number;
  /** Required place of the client's secret. */
  readonly clientAuth?: 'body' | 'header' | 'public';
  readonly clientSecret?: string;
  /** Requirements of the user-info endpoint: method and header; it adds these claims, or answers 403. */
  readonly userInfo?: {
    readonly method?: 'GET' | 'POST';
    readonly header?: readonly [name: string, value: string];
    readonly claims?: Readonly<Record<string, unknown>>;
    readonly closed?: boolean;
  };
  /** `iss` in authorization responses (RFC 9207). */
  readonly iss?: 'sent' | 'wrong' | 'missing';
  /** Claims besides `sub` in ID tokens and user-info. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Leaves name and email out of ID tokens. */
  readonly slimIdToken?: boolean;
  /** Runs before each request; the provider awaits its result. */
  readonly before?: (path: string) => Promise<void> | undefined;
}

/** Faults to inject. */
export type Fault = 'fail' | 'hang' | 'html' | 'huge' | 'redirect' | 'unknown-client';
export type Part = 'discovery' | 'jwks' | 'authorize' | 'token' | 'userinfo';

/** Errors in the ID tokens. */
export type IdTokenFault =
  | 'signature'
  | 'nonce'
  | 'issuer'
  | 'audience'
  | 'missing'
  | 'expired'
  | 'alg-none'
  | 'shared-secret'
  | 'foreign-key'
  | 'other-user';

/** A received request. */
export interface Asked {
  /** Time of receipt, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly form: URLSearchParams;
}

export const CLIENT_ID = 'vmcp-at-fake';
export const CLIENT_SECRET = 'fake+secret/with=odd&characters';
