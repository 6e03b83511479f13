import type { Identity } from '#runtime/incoming/identity';

/** Headers that authenticate one request to one backend: flat name, value, name, value … in lower case names. */
export type CredentialHeaders = readonly string[];

/** Boundary 2 of one backend, built once from its configuration. */
export interface Credential {
  /** For `/status` and the table: the kind of authentication, e.g. `tokenExchange`. */
  readonly authType: string;
  /** Whether what a backend answers may depend on who asks: then nothing that it lists is shared between callers. */
  readonly perUser: boolean;
  /**
   * The headers for this caller, at once where they are cached.
   * @throws RequestError when the credential is not to be had
   */
  headersFor(identity: Identity): CredentialHeaders | Promise<CredentialHeaders>;
  /**
   * The backend answered 401 to these headers: forget them for this caller, unless others have taken their place already.
   * False: nothing to renew.
   */
  invalidate(identity: Identity, refused: CredentialHeaders): boolean;
  close(): void;
}
