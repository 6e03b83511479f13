/** Content of a sealed row, and whether it should be sealed again under the current secret. */
export interface Opened {
  readonly plain: string;
  readonly stale: boolean;
}

/** The first HMAC secret signs (a new one after 120 s), all verify. HKDF (RFC 5869) derives keys for MACs and AES-256-GCM. */
export interface SecretRing {
  readonly kid: string;
  /** Returns base64url of HMAC-SHA-256 under the secret `kid`. @throws UnknownSecret */
  mac(kid: string, text: string): string;
  /** Compares in constant time. @throws UnknownSecret */
  verify(kid: string, text: string, mac: string): boolean;
  /** Returns `kid.iv.ciphertext` in base64url. `aad` binds it to its context. */
  seal(plain: string, aad: string): string;
  /** @throws UnknownSecret, or SealBroken if text or `aad` differ from the sealed ones */
  open(sealed: string, aad: string): Opened;
  readonly status: { readonly kids: readonly string[]; readonly making: string; readonly ephemeral: boolean };
  /** Milliseconds since the epoch of the start or last change. For 120 s, another replica may use a `kid` that is unknown here. */
  readonly changedAt: number;
}

/** The MAC or row belongs to a secret that this process does not know. */
export class UnknownSecret extends Error {
  override readonly name = 'UnknownSecret';
}

/** The row was changed, or moved to another context. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}
