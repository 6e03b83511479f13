import type { JSONWebKeySet, JWTPayload } from 'jose';

/** Keys of the JWTs. The first one signs; all verify and are published. */
export interface SigningKeys {
  sign(claims: JWTPayload, typ: string): Promise<string>;
  /** Public keys (RFC 7517). The object stays the same until the keys change. */
  readonly jwks: JSONWebKeySet;
  /** Key ids in the configured order, and the id of the key that signs now. */
  readonly status: { readonly kids: readonly string[]; readonly signing: string; readonly ephemeral: boolean };
}
