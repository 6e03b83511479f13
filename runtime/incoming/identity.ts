/** A claim value that policies can read. Other claims of a token are normalised to these types or dropped. */
export type ClaimValue = string | number | boolean | readonly (string | number | boolean)[];

/** A stored claim. In a list, null replaces an item that policies cannot read. */
export type StoredClaim = ClaimValue | readonly (string | number | boolean | null)[];

/** The caller, as boundary 1 verified it. */
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
  /** Key of the principal in caches and sessions: issuer and subject, unambiguous. */
  readonly key: string;
  /** The embedded authorization server's login that the token was issued for; undefined for any other token. */
  readonly tsid?: string | undefined;
  /** The bearer token: only for a token exchange, never for a backend or a log. */
  readonly token: string | undefined;
  /** Milliseconds since the epoch; Infinity for an anonymous caller. */
  readonly expiresAt: number;
}

/** Boundary 1. `rawHeaders` is node's flat list, which shows a repeated Authorization header. */
export interface Authenticator {
  /**
   * Returns the caller, synchronously for a cached token. `connection` identifies the client's connection: most requests on one have the
   * same token. @throws RequestError 401 (invalid token), 403 (insufficient_scope) or 503 (keys or introspection unavailable)
   */
  authenticate(rawHeaders: readonly string[], connection?: object): Identity | Promise<Identity>;
  /**
   * Returns whether the login behind an identity still exists, for streams that outlast their request; absent: identities have no login.
   * Rejects if the state is unknown.
   */
  readonly isAlive?: ((identity: Identity) => Promise<boolean>) | undefined;
  /** Warnings for the log, e.g. that every client may call. */
  readonly warnings: readonly string[];
  close(): void;
}
