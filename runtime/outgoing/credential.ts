import type { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { SharedLogin } from '#runtime/remote-login/shared-login';

/** Headers that authenticate one request to one backend: flat name, value, name, value … in lower case names. */
export type CredentialHeaders = readonly string[];

/** What of a request a signature covers. */
export interface OutgoingRequest {
  readonly verb: 'POST' | 'GET' | 'DELETE';
  readonly body: Buffer | undefined;
  /** Path and query, where they are not those of the backend's URL. */
  readonly path?: string | undefined;
}

/** The provider at which a caller has to have logged in, of a credential that is made of the caller's stored token there. */
export interface ProviderLogin {
  readonly provider: string;
  /** Whether the caller has a token that serves now. @throws RequestError where that cannot be known */
  isReady(identity: Identity): Promise<boolean>;
  /** A URL, single use, 10 min, by which this caller and nobody else logs in there. @throws RequestError */
  linkUrl(identity: Identity): Promise<string>;
  /** The backend answered 401 to these headers although they were renewed: the caller has to log in again. */
  refused(identity: Identity, refused: CredentialHeaders): RequestError;
}

/** Boundary 2 of one backend, built once from its configuration. */
export interface Credential {
  /** For `/status` and the table: the kind of authentication, e.g. `tokenExchange`. */
  readonly authType: string;
  /** Whether what a backend answers may depend on who asks: then nothing that it lists is shared between callers. */
  readonly perUser: boolean;
  /** Absent: the credential needs no stored token of the caller's. */
  readonly login?: ProviderLogin;
  /** Absent: the credential is not made of a login by who runs this. */
  readonly sharedLogin?: SharedLogin;
  /**
   * The headers for this caller, at once where they are cached. `request` counts for credentials that sign.
   * @throws RequestError when the credential is not to be had; LoginNeeded where the caller has to log in at `login` first
   */
  headersFor(identity: Identity, request?: OutgoingRequest): CredentialHeaders | Promise<CredentialHeaders>;
  /**
   * The backend answered 401 to these headers: forget them for this caller, unless others have taken their place already.
   * False: nothing to renew.
   */
  invalidate(identity: Identity, refused: CredentialHeaders): boolean;
  /** Told when what callers get is something else now; absent: nobody can tell. */
  onChange?(listener: () => void): void;
  close(): void;
}
