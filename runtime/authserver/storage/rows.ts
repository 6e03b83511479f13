import type { KeptClaim } from '#runtime/incoming/identity';

/** A client that registered itself (RFC 7591). It is forgotten 30 days after its last use. */
export interface ClientRow {
  readonly client_id: string;
  /** As the client says it: unverified. */
  readonly client_name: string | undefined;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly scope: string | undefined;
  readonly application_type: string | undefined;
  /** Milliseconds since the epoch, as all times here. */
  readonly registered_at: number;
}

/** What a client asked for at the authorization endpoint, after it was checked. */
export interface AuthorizeRequest {
  readonly client_id: string;
  readonly redirect_uri: string;
  /** Undefined: the client sent none. */
  readonly state: string | undefined;
  readonly code_challenge: string;
  /** Scopes that it gets. */
  readonly scope: readonly string[];
  /** The one resource of this server. */
  readonly resource: string;
  /** The name that the consent page shows, of a client with a metadata document, which can change it. */
  readonly client_name?: string | undefined;
}

/** Who somebody is at one provider. */
export interface UpstreamAccount {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  /** Undefined: the provider does not say. */
  readonly email_verified: boolean | undefined;
}

/** Who logs in, as the primary provider says it. */
export interface UserProfile extends UpstreamAccount {
  /** Stable hash of the primary provider's issuer and subject. */
  readonly sub: string;
  /** Its other claims, at most 8 KiB as JSON; policies read them as `claim_*`. */
  readonly claims: Readonly<Record<string, KeptClaim>>;
}

/** The leg of a login that is under way at one provider. */
interface Leg {
  readonly provider: string;
  /** Sealed JSON of PKCE verifier and nonce, bound to this login. */
  readonly secrets: string;
}

/** What one provider gave in a login that is not over yet: not the user's until the chain ends. */
export interface PendingLink {
  readonly account: UpstreamAccount | undefined;
  /** Tokens, sealed under the id of the login. */
  readonly sealed: string;
  readonly expires_at: number | undefined;
}

/**
 * A login on its way: stored under the hash of the one ticket that leads on (the form of a page, or the `state` of a leg), and
 * taken when that comes back, so that no step can be done twice.
 */
export interface LoginRow {
  /** Random; part of what seals its tokens. */
  readonly id: string;
  readonly purpose: 'authorize' | 'link';
  /** With purpose authorize. */
  readonly request: AuthorizeRequest | undefined;
  /** Hash of the cookie of the browser that began it. */
  readonly browser: string;
  /** Which page or leg the ticket stands for. */
  readonly step: 'consent' | 'leg';
  /** Providers still to be visited after this step, in order. */
  readonly remaining: readonly string[];
  readonly leg: Leg | undefined;
  readonly user: UserProfile | undefined;
  /** By provider. */
  readonly links: Readonly<Record<string, PendingLink>>;
  /** With purpose link: whose link it will be. */
  readonly sub: string | undefined;
  /** The user wants to sign in anew at the primary provider, whoever is signed in there. */
  readonly force_login?: boolean;
  readonly ends_at: number;
}

/** What a browser's cookie stands for, stored under the hash of its value; 12 h. */
export interface BrowserRow {
  readonly user: UserProfile;
  readonly logged_in_at: number;
  /** Hashes of client, redirect URI and scopes that were consented to; the latest 100. */
  readonly consents: readonly string[];
  readonly ends_at: number;
}

/** An authorization code, stored under the hash of its id. */
export interface CodeRow {
  readonly request: AuthorizeRequest;
  readonly user: UserProfile;
}

/** A login of a client, stored under the hash of the secret part of its refresh token; that hash is the `tsid` of its JWTs. */
export interface SessionRow {
  readonly client_id: string;
  readonly sub: string;
  readonly scope: readonly string[];
  readonly resource: string;
  readonly user: UserProfile;
  /** Which secret made its refresh tokens last. */
  readonly kid: string;
  /** Whatever happens, it ends then. */
  readonly ends_at: number;
  /** When the primary provider was last asked whether the user is still there, and when it last answered. */
  readonly asked_at: number;
  readonly answered_at: number;
}

/** A session with what changes at each refresh. */
export interface LiveSession extends SessionRow {
  /** Generation of its refresh token. */
  readonly gen: number;
  readonly rotated_at: number;
}

/** A provider that a user has linked: the one holder of that user's tokens there. */
export interface LinkRow {
  readonly account: UpstreamAccount | undefined;
  /** Tokens, sealed for namespace, name, uid, sub and provider. */
  readonly sealed: string;
  /** When the access token ends; undefined: the provider does not say. */
  readonly expires_at: number | undefined;
  /** When this account was linked; kept when the same one logs in again, so that browser logins since then hold. */
  readonly linked_at: number;
  /** `needs_login`: the provider refused to renew the tokens. */
  readonly state: 'linked' | 'needs_login';
  /** Counts up with each change: a writer that read another version has lost. */
  readonly version: number;
}

/** A link URL: single use. */
export interface TicketRow {
  readonly sub: string;
  readonly provider: string;
  /** Hash of the cookie of the browser that used it. That browser may open it again for a few seconds. */
  readonly used_by?: string;
}

/** An answer that a browser gets again when it repeats the request, stored under a hash of browser and request. */
export interface AnswerRow {
  /** JSON of status, headers and body. */
  readonly sealed: string;
  /** The id of the authorization code in it: once that is used, the answer is not given again. */
  readonly code: string | undefined;
  /** Hash of the part of the request that may be another one for a few seconds. */
  readonly variant: string | undefined;
  readonly made_at: number;
}
