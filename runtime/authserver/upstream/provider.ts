import type { StoredClaim } from '#runtime/incoming/identity';
import type { UpstreamAccount } from '../storage/rows.ts';

/** Tokens that a provider issued for a code or a refresh token. Sealed as JSON before they are stored. */
export interface UpstreamTokens {
  readonly access_token: string;
  readonly refresh_token: string | undefined;
  /** Milliseconds since the epoch. Undefined if the provider does not return it. */
  readonly expires_at: number | undefined;
  readonly scope: string | undefined;
  /** For token exchanges that require it. */
  readonly id_token: string | undefined;
}

/** Account with the claims that policies may read. */
export interface UpstreamIdentity extends UpstreamAccount {
  readonly claims: Readonly<Record<string, StoredClaim>>;
}

/** Secrets that finish one login step. They are sealed into the login. */
export interface StepSecrets {
  readonly verifier: string;
  readonly nonce: string;
}

export interface StepRequest extends StepSecrets {
  readonly state: string;
  readonly forceLogin: boolean;
}

export interface StepResult {
  readonly tokens: UpstreamTokens;
  /** Undefined when the provider does not identify the user. */
  readonly identity: UpstreamIdentity | undefined;
}

/** The provider refused for good: `invalid_grant`, 401. Only the user can resolve it. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
  /** The user denied, or is not permitted. */
  readonly denied: boolean;
  constructor(message: string, { denied = false }: { readonly denied?: boolean } = {}) {
    super(message);
    this.denied = denied;
  }
}

/** A retry may succeed. The message is for the log: it names provider and reason, and quotes only error words of RFC 6749. */
export class UpstreamUnavailable extends Error {
  override readonly name = 'UpstreamUnavailable';
  /** The provider gave an invalid answer: an ID token that does not verify, or an unknown client. */
  readonly answered: boolean;
  readonly status: number | undefined;
  constructor(message: string, { answered = false, status }: { answered?: boolean; status?: number } = {}) {
    super(message);
    this.answered = answered;
    this.status = status;
  }
}

export interface UpstreamProvider {
  readonly name: string;
  /** Returns the URL that the browser is sent to. @throws UpstreamUnavailable */
  authorizationUrl(request: StepRequest): Promise<string>;
  /** `callback`: full URL. @throws UpstreamRefused for a denial or refused code, UpstreamUnavailable, also for an unverified ID token */
  finish(callback: URL, expected: StepSecrets & { readonly state: string }): Promise<StepResult>;
  /** Returns new tokens. A refresh token that the provider did not replace is kept. @throws UpstreamRefused, UpstreamUnavailable */
  refresh(tokens: UpstreamTokens): Promise<UpstreamTokens>;
  /** Returns the identity of the tokens' holder; undefined when the provider cannot tell. @throws UpstreamRefused, UpstreamUnavailable */
  identify(tokens: UpstreamTokens): Promise<UpstreamIdentity | undefined>;
  close(): Promise<void>;
}
