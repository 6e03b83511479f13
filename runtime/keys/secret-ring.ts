/** A row that was sealed: what it holds, and whether it should be sealed again under the secret in force. */
export interface Opened {
  readonly plain: string;
  readonly stale: boolean;
}

/**
 * The HMAC secrets: the first makes, all check. Sub-keys by HKDF (RFC 5869): one for MACs, one for AES-256-GCM.
 * A first secret that is newly seen checks at once and makes only 120 s later, as other replicas may see it later.
 */
export interface SecretRing {
  /** Names the secret that makes now. */
  readonly kid: string;
  /** Base64url of HMAC-SHA-256 under the secret `kid`. @throws UnknownSecret */
  mac(kid: string, text: string): string;
  /** Compared in constant time. @throws UnknownSecret */
  verify(kid: string, text: string, mac: string): boolean;
  /** `kid.iv.ciphertext` in base64url; `aad` binds it to its place. */
  seal(plain: string, aad: string): string;
  /** @throws UnknownSecret, or SealBroken where text or `aad` are not those that were sealed */
  open(sealed: string, aad: string): Opened;
  readonly status: { readonly kids: readonly string[]; readonly making: string; readonly ephemeral: boolean };
  /** Milliseconds since the epoch of the start or the last change: an unknown `kid` may be news from another replica for 120 s. */
  readonly changedAt: number;
}

/** Made under a secret that this process does not know. */
export class UnknownSecret extends Error {
  override readonly name = 'UnknownSecret';
}

/** Changed, or moved to another place. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken';
}
