/** A claim value that policies can read; everything else of a token is normalised to these or dropped. */
export type ClaimValue = string | number | boolean | readonly (string | number | boolean)[];

/** A claim that is kept for later; null stands for what no policy can read in a list. */
export type KeptClaim = ClaimValue | readonly (string | number | boolean | null)[];

/** Who is calling, after boundary 1. */
export interface Identity {
  /** `iss` of the token; empty for an anonymous caller. */
  readonly issuer: string;
  /** `sub` of the token; `anonymous` for an anonymous caller. */
  readonly subject: string;
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  readonly groups: readonly string[];
  /** All claims of the token, normalised. */
  readonly claims: Readonly<Record<string, ClaimValue>>;
  /** Names the principal in caches and sessions: issuer and subject, unambiguous. */
  readonly key: string;
  /** Names the login of the authorization server in this process that the token was issued for; undefined for any other token. */
  readonly tsid?: string | undefined;
  /** The bearer itself: only for a token exchange, never for a backend or a log. */
  readonly token: string | undefined;
  /** Milliseconds since the epoch; Infinity for an anonymous caller. */
  readonly expiresAt: number;
}

/** Boundary 1. `rawHeaders` is node's flat list, so that a repeated Authorization header is seen. */
export interface Authenticator {
  /**
   * The caller, at once where the token is remembered. `connection` is the object that stands for the client's connection: most
   * requests on one bring the same token.
   * @throws RequestError 401 (invalid token), 403 (insufficient_scope) or 503 (keys or introspection not to be had)
   */
  authenticate(rawHeaders: readonly string[], connection?: object): Identity | Promise<Identity>;
  /**
   * Whether the login behind an identity is there still, for streams that outlast their request; absent: identities have none. It
   * rejects where nobody can tell.
   */
  readonly isAlive?: ((identity: Identity) => Promise<boolean>) | undefined;
  /** Warnings for the log, e.g. that anybody may call. */
  readonly warnings: readonly string[];
  close(): void;
}
