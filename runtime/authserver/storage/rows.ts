import type { StoredClaim } from '#runtime/incoming/identity';

/** Registered client (RFC 7591). It is forgotten 30 days after its last use. */
export interface ClientRow {
  readonly client_id: string;
  /** Unverified name from the client. */
  readonly client_name: string | undefined;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly scope: string | undefined;
  readonly application_type: string | undefined;
  /** Milliseconds since the epoch, as all times here. */
  readonly registered_at: number;
}

export interface AuthorizeRequest {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly state: string | undefined;
  readonly code_challenge: string;
  readonly scope: readonly string[];
  readonly resource: string;
  /** Name on the consent page for a client with a metadata document, which can change the name. */
  readonly client_name?: string | undefined;
}

export interface UpstreamAccount {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  /** Undefined if the provider does not return it. */
  readonly email_verified: boolean | undefined;
}

/** User, as identified by the primary provider. */
export interface UserProfile extends UpstreamAccount {
  /** Stable hash of the primary provider's issuer and subject. */
  readonly sub: string;
  /** Other claims, at most 8 KiB as JSON. Policies read them as `claim_*`. */
  readonly claims: Readonly<Record<string, StoredClaim>>;
}

interface LoginStep {
  readonly provider: string;
  /** Sealed JSON of PKCE verifier and nonce, bound to this login. */
  readonly secrets: string;
}

/** Result of one login step. It becomes the user's link when the chain ends. */
export interface PendingLink {
  readonly account: UpstreamAccount | undefined;
  /** Tokens, sealed under the id of the login. */
  readonly sealed: string;
  readonly expires_at: number | undefined;
}

/** Stored under the hash of its only ticket, of a form or the `state` of a step. A returned ticket takes the row: no step runs twice. */
export interface LoginRow {
  /** Random id, part of the seal of its tokens. */
  readonly id: string;
  readonly purpose: 'authorize' | 'link';
  /** Set with purpose `authorize`. */
  readonly request: AuthorizeRequest | undefined;
  /** Hash of the cookie of the browser that began the login. */
  readonly browser: string;
  readonly step: 'consent' | 'provider';
  /** Providers to visit after this step, in order. */
  readonly remaining: readonly string[];
  readonly login_step: LoginStep | undefined;
  readonly user: UserProfile | undefined;
  readonly links: Readonly<Record<string, PendingLink>>;
  /** User who gets the link, with purpose `link`. */
  readonly sub: string | undefined;
  /** The primary provider must ask for a new sign-in, even if a user is signed in there. */
  readonly force_login?: boolean;
  readonly ends_at: number;
}

/** Browser login, stored under the hash of the cookie's login part for 12 h. */
export interface BrowserRow {
  readonly user: UserProfile;
  readonly logged_in_at: number;
  /** Keys of the latest 100 consents: hashes of client, redirect URI and scopes. */
  readonly consents: readonly string[];
  readonly ends_at: number;
}

export interface CodeRow {
  readonly request: AuthorizeRequest;
  readonly user: UserProfile;
}

/** Login of a client, stored under the hash of the secret part of its refresh token. That hash is the `tsid` of its JWTs. */
export interface SessionRow {
  readonly client_id: string;
  readonly sub: string;
  readonly scope: readonly string[];
  readonly resource: string;
  readonly user: UserProfile;
  readonly kid: string;
  /** Latest possible end, independent of any use. */
  readonly ends_at: number;
  /** Times at which the primary provider was last asked about the user, and last answered. */
  readonly asked_at: number;
  readonly answered_at: number;
}

/** Session with the fields that each refresh changes. */
export interface ActiveSession extends SessionRow {
  readonly gen: number;
  readonly rotated_at: number;
}

/** Link of a user to a provider: the only place of that user's tokens there. */
export interface LinkRow {
  readonly account: UpstreamAccount | undefined;
  /** Tokens, sealed for namespace, name, uid, sub and provider. */
  readonly sealed: string;
  /** End of the access token. Undefined if the provider does not return it. */
  readonly expires_at: number | undefined;
  /** Time at which this account was linked. A new login with the same account keeps it, so browser logins since then stay valid. */
  readonly linked_at: number;
  /** `needs_login`: the provider refused to renew the tokens. */
  readonly state: 'linked' | 'needs_login';
  /** Increases with each change. A write based on another version fails. */
  readonly version: number;
}

export interface TicketRow {
  readonly sub: string;
  readonly provider: string;
  /** Hash of the cookie of the browser that used it. That browser may open it again for a few seconds. */
  readonly used_by?: string;
}

/** Assertion that was used, stored under a hash of its issuer and `jti` until it expires. */
export interface AssertionRow {
  readonly used_at: number;
}

/** End of the assertions about a user or a session that were issued before. It is kept until the last of them has expired. */
export interface RevocationRow {
  /** Milliseconds since the epoch. Assertions that were issued at this time or before are refused. */
  readonly not_before: number;
}

/** Session that successive grants without a refresh token share, stored under a hash of what they have in common. */
export interface SlotRow {
  readonly session: string;
}

/** Answer for a repeated request, stored under a hash of browser and request. */
export interface AnswerRow {
  /** JSON of status, headers and body. */
  readonly sealed: string;
  /** Id of the authorization code in the answer. A used code invalidates the stored answer. */
  readonly code: string | undefined;
  /** Hash of the part of the request that may differ for a few seconds. */
  readonly variant: string | undefined;
  readonly made_at: number;
}
