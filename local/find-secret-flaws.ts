import { signingAlgorithmOf } from '#lib/keys/signing-algorithm';
import { findTlsProblem } from '#lib/tls/find-tls-problem';
import { HEADER_VALUE, isBlank } from '#crds/parts/primitives';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { firstCertificate, hasCertificate } from '#crds/parts/has-certificate';
import type { SecretFlaw } from '#operator/snapshot';
import { contentHash } from '#operator/content-hash';

const BEYOND_LATIN_1 = /[^\x00-\xff]/g;
const SHORTEST_SEAL = 32;

/** Line breaks at the end do not count: the runtime reads the file the same way. */
export function findSecretFlaws(value: string): SecretFlaw[] {
  const text = value.replace(/[\r\n]+$/, '');
  const key = privateKeyOf(text);
  return [
    ...(isBlank(text) ? (['empty'] as const) : []),
    ...headerFlaws(text),
    ...(Buffer.byteLength(text) < SHORTEST_SEAL ? (['short'] as const) : []),
    ...(key ? [] : (['no private key'] as const)),
    ...(key && signingAlgorithmOf(key) ? [] : (['no signing key'] as const)),
    ...(hasCertificate(text) ? [] : (['no certificate'] as const)),
  ];
}

/** Finds control characters and characters beyond Latin-1. */
function headerFlaws(text: string): SecretFlaw[] {
  if (HEADER_VALUE.test(text)) return [];
  return HEADER_VALUE.test(text.replaceAll(BEYOND_LATIN_1, '')) ? ['beyond Latin-1'] : ['control characters'];
}

/** Returns undefined when TLS accepts the value, or it is neither certificate chain nor private key. */
export function findTlsFlaw(value: string): string | undefined {
  const text = value.replace(/[\r\n]+$/, '');
  if (hasCertificate(text)) return findTlsProblem({ cert: text });
  return privateKeyOf(text) && findTlsProblem({ key: text });
}

/** Returns the hash of the public key; undefined when the value has none, or Node knows no such key. */
export function findKeyPair(value: string): string | undefined {
  try {
    const key = firstCertificate(value)?.publicKey ?? privateKeyOf(value);
    const publicKey = key?.type === 'private' ? createPublicKey(key) : key;
    return publicKey && contentHash(publicKey.export({ type: 'spki', format: 'pem' }).toString());
  } catch {
    return undefined;
  }
}

function privateKeyOf(text: string): KeyObject | undefined {
  if (!text.includes('PRIVATE KEY-----')) return undefined;
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}
