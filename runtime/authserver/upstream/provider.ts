import type { KeptClaim } from '#runtime/incoming/identity';
import type { UpstreamAccount } from '../storage/rows.ts';

/** What a provider gave for a code or a refresh token. Sealed as JSON before it is stored. */
export interface UpstreamTokens {
  readonly access_token: string;
  /** Undefined: this provider gives none. */
  readonly refresh_token: string | undefined;
  /** Milliseconds since the epoch; undefined: the provider does not say. */
  readonly expires_at: number | undefined;
  readonly scope: string | undefined;
  /** Kept for token exchanges that ask for it. */
  readonly id_token: string | undefined;
}

/** The account with the claims that policies may read. */
export interface UpstreamIdentity extends UpstreamAccount {
  readonly claims: Readonly<Record<string, KeptClaim>>;
}

/** What one leg needs to be finished; sealed into the login. */
export interface LegSecrets {
  readonly verifier: string;
  readonly nonce: string;
}

export interface LegRequest extends LegSecrets {
  readonly state: string;
  /** The user wants to sign in anew. */
  readonly forceLogin: boolean;
}

/** What comes of a finished leg. */
export interface LegResult {
  readonly tokens: UpstreamTokens;
  /** Undefined: this provider does not say who the user is. */
  readonly identity: UpstreamIdentity | undefined;
}

/** The provider refused for good: `invalid_grant`, 401. Nobody but the user can help. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
  /** The user said no, or may not. */
  readonly denied: boolean;
  constructor(message: string, { denied = false }: { readonly denied?: boolean } = {}) {
    super(message);
    this.denied = denied;
  }
}

/**
 * The provider cannot be reached, or its answer cannot be used; later it may be. The message is for the log: it names provider and
 * reason, never what the provider wrote besides words of RFC 6749.
 */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable';
  /** It did answer, but not as it should: an ID token that does not verify, a client that it does not know. */
  readonly answered: boolean;
  /** The HTTP status of its answer, where that was an error. */
  readonly status: number | undefined;
  constructor(message: string, { answered = false, status }: { answered?: boolean; status?: number } = {}) {
    super(message);
    this.answered = answered;
    this.status = status;
  }
}

/** One upstream identity provider. Two implementations: OpenID Connect, and OAuth 2.0 by itself. */
export interface UpstreamProvider {
  readonly name: string;
  /** Where the browser is sent. @throws UpstreamUnavailable */
  authorizationUrl(request: LegRequest): Promise<string>;
  /**
   * Redeems what the callback brought. `callback` is the full URL with its query.
   * @throws UpstreamRefused the user denied, or the provider refused the code
   * @throws UpstreamUnavailable, also where an ID token does not verify
   */
  finish(callback: URL, expected: LegSecrets & { readonly state: string }): Promise<LegResult>;
  /** New tokens; a refresh token that the provider did not replace is carried over. @throws UpstreamRefused, UpstreamUnavailable */
  refresh(tokens: UpstreamTokens): Promise<UpstreamTokens>;
  /** Who the holder of the tokens is, asked now. Undefined: this provider cannot say. @throws UpstreamRefused, UpstreamUnavailable */
  identify(tokens: UpstreamTokens): Promise<UpstreamIdentity | undefined>;
  close(): Promise<void>;
}
