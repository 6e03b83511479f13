import type { Bundle } from '@sigstore/bundle';

export interface Signature {
  bundle: Bundle;
  /** Signed bytes, if the bundle does not contain them. */
  artifact: Buffer | undefined;
  /** Call it only after verification. Throws if the text cannot be read. */
  subjects(): Statement;
}

export interface Statement {
  digests: readonly string[];
  predicateType?: string;
  predicate?: unknown;
}

/** The message is public and ends a sentence. */
export class SignatureRefused extends Error {
  override readonly name = 'SignatureRefused';
}

export const BY_KEY = 'it was made with a key, and not with a certificate';
