import type { Bundle } from '@sigstore/bundle';

/** Unverified signature of an image, in one format for all sources. */
export interface Signature {
  bundle: Bundle;
  /** Signed bytes, if the bundle does not contain them. */
  artifact: Buffer | undefined;
  /** Returns the subjects of the signed text. Call it only after verification. Throws if the text cannot be read. */
  subjects(): Statement;
}

/** Content of a signed text. */
export interface Statement {
  digests: readonly string[];
  /** Set for attestations only. */
  predicateType?: string;
  predicate?: unknown;
}

/** Signature that does not prove what the registry declares. The message is public and ends a sentence. */
export class SignatureRefused extends Error {
  override readonly name = 'SignatureRefused';
}

export const BY_KEY = 'it was made with a key, and not with a certificate';
