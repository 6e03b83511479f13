import type { JSONWebKeySet, JWTPayload } from 'jose';

/** The keys of the JWTs: the first signs, all verify and are published. */
export interface SigningKeys {
  /** A JWT in compact form, signed with the key in force; `typ` is its type header. */
  sign(claims: JWTPayload, typ: string): Promise<string>;
  /** The public keys (RFC 7517); the same object as long as nothing changed. */
  readonly jwks: JSONWebKeySet;
  /** Key ids in the order of the configuration; the one that signs now. */
  readonly status: { readonly kids: readonly string[]; readonly signing: string; readonly ephemeral: boolean };
}
