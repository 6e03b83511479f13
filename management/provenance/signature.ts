import type { Bundle } from '@sigstore/bundle';

/** A signature as it lies beside an image, in one form whatever the registry's was. Nothing of it is believed yet. */
export interface Signature {
  bundle: Bundle;
  /** What was signed, where the bundle does not hold it. */
  artifact: Buffer | undefined;
  /** What the signed text is about; to be asked once the signature is known to hold. Throws where it cannot be read. */
  subjects(): Statement;
}

/** What a signed text says. */
export interface Statement {
  digests: readonly string[];
  /** Of an attestation. */
  predicateType?: string;
  predicate?: unknown;
}

/** A signature that does not show what the registry says. The message is public, and ends a sentence. */
export class SignatureRefused extends Error {
  override readonly name = 'SignatureRefused';
}

export const BY_KEY = 'it was made with a key, and not with a certificate';
