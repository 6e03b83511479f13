import type { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { SharedLogin } from '#runtime/remote-login/shared-login';

/** Headers that authenticate one request to one backend: flat name, value, name, value …, with names in lower case. */
export type CredentialHeaders = readonly string[];

export interface OutgoingRequest {
  readonly verb: 'POST' | 'GET' | 'DELETE';
  readonly body: Buffer | undefined;
  /** Path and query, if they differ from the backend's URL. */
  readonly path?: string | undefined;
}

/** The provider at which the caller must log in. Used by a credential that needs the caller's stored token of that provider. */
export interface ProviderLogin {
  readonly provider: string;
  /** Returns whether the caller has a valid stored token. @throws RequestError if that is unknown */
  isReady(identity: Identity): Promise<boolean>;
  /** Returns a URL, valid once and for 10 min, at which only this caller logs in to the provider. @throws RequestError */
  linkUrl(identity: Identity): Promise<string>;
  /** Returns the error for a 401 of the backend to renewed headers: the caller must log in again. */
  refused(identity: Identity, refused: CredentialHeaders): RequestError;
}

export interface Credential {
  readonly authType: string;
  /** Whether a backend's answers may depend on the caller. If so, callers share none of its lists. */
  readonly perUser: boolean;
  /** Absent: the credential needs no stored token of the caller. */
  readonly login?: ProviderLogin;
  /** Absent: the credential uses no login shared by all callers. */
  readonly sharedLogin?: SharedLogin;
  /** Synchronous if cached. Signing uses `request`. @throws RequestError if unavailable, LoginNeeded if a login at `login` is needed */
  headersFor(identity: Identity, request?: OutgoingRequest): CredentialHeaders | Promise<CredentialHeaders>;
  /** Drops headers that the backend refused with a 401, unless others have replaced them. Returns false if it cannot renew any. */
  invalidate(identity: Identity, refused: CredentialHeaders): boolean;
  /** Calls the listener when the credentials of callers have changed; absent: changes are unknown. */
  onChange?(listener: () => void): void;
  close(): void;
}
