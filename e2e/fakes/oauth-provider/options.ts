/** How this provider differs from others: each is met in the field. */
export interface OAuthProviderOptions {
  readonly port?: number;
  /** Address to listen at: browsers keep cookies by it. */
  readonly host?: string;
  /** Publishes discovery and keys, and gives ID tokens. */
  readonly oidc?: boolean;
  /** `nested`: tokens and user below `authed_user`; `form`: form-encoded, whatever is accepted. */
  readonly answers?: 'plain' | 'nested' | 'form';
  /** Members of token answers besides, or in the place of what would be there. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Errors of the token endpoint come with HTTP 200. */
  readonly errorsAt200?: boolean;
  /** Whether a refresh token is given, and whether a refresh gives another. */
  readonly refresh?: 'none' | 'keeps' | 'rotates';
  /** Seconds; undefined: tokens do not end, and the provider does not say so. */
  readonly expiresIn?: number;
  /** Where the client's secret has to be. */
  readonly clientAuth?: 'body' | 'header' | 'public';
  readonly clientSecret?: string;
  /** The user-info endpoint wants this method and header, says these claims besides, or answers 403. */
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
  /** Is asked before anything else is done; what it returns is waited for. */
  readonly before?: (path: string) => Promise<void> | undefined;
}

/** What goes wrong on purpose. */
export type Fault = 'fail' | 'hang' | 'html' | 'huge' | 'redirect' | 'unknown-client';
export type Part = 'discovery' | 'jwks' | 'authorize' | 'token' | 'userinfo';

/** What is wrong with the ID tokens. */
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

/** One request that came. */
export interface Asked {
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly form: URLSearchParams;
}

export const CLIENT_ID = 'vmcp-at-fake';
export const CLIENT_SECRET = 'fake+secret/with=odd&characters';
