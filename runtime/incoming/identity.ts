/** A claim value that policies can read. Other claims of a token are normalised to these types or dropped. */
export type ClaimValue = string | number | boolean | readonly (string | number | boolean)[];

/** A stored claim. In a list, null replaces an item that policies cannot read. */
export type StoredClaim = ClaimValue | readonly (string | number | boolean | null)[];

export interface Identity {
  /** `iss` of the token; empty for an anonymous caller. */
  readonly issuer: string;
  /** `sub` of the token; `anonymous` for an anonymous caller. */
  readonly subject: string;
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  readonly groups: readonly string[];
  readonly claims: Readonly<Record<string, ClaimValue>>;
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
  /** Synchronous for a cached token. `connection`: most requests on one repeat the token. @throws RequestError 401, 403 or 503 */
  authenticate(rawHeaders: readonly string[], connection?: object): Identity | Promise<Identity>;
  /** Whether the login still exists, for streams that outlast their request. Absent: identities have no login. Rejects if unknown. */
  readonly isAlive?: ((identity: Identity) => Promise<boolean>) | undefined;
  readonly warnings: readonly string[];
  close(): void;
}
