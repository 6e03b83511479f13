import type { KeyObject } from 'node:crypto';

/** Algorithms of the tokens that the authorization server issues. RFC 7518 §3.1, RFC 8037 §3.1. */
export type SigningAlgorithm = 'EdDSA' | 'RS256' | 'ES256' | 'ES384';

const MIN_RSA_BITS = 2048;
const CURVES: Readonly<Record<string, SigningAlgorithm>> = { prime256v1: 'ES256', secp384r1: 'ES384' };

/** Returns the algorithm that a private key signs tokens with; undefined: it cannot sign tokens. */
export function signingAlgorithmOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): SigningAlgorithm | undefined {
  if (type === 'ed25519') return 'EdDSA';
  if (type === 'ec') return CURVES[details?.namedCurve ?? ''];
  return type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS ? 'RS256' : undefined;
}
