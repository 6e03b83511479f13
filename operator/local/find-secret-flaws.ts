import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { HEADER_VALUE } from '#crds/parts/primitives';
import type { SecretFlaw } from '#operator/world';

const SHORTEST_SEAL = 32;
const MIN_RSA_BITS = 2048;
const CURVES = new Set(['prime256v1', 'secp384r1']);

/** Returns what a value of a Secret cannot be used for. The value is read as the runtime reads a file: line breaks at its end do not count. */
export function findSecretFlaws(value: string): SecretFlaw[] {
  const text = value.replace(/[\r\n]+$/, '');
  const key = privateKeyOf(text);
  return [
    ...(text === '' ? (['empty'] as const) : []),
    ...(text === '' || HEADER_VALUE.test(text) ? [] : (['control characters'] as const)),
    ...(Buffer.byteLength(text) < SHORTEST_SEAL ? (['short'] as const) : []),
    ...(key ? [] : (['no private key'] as const)),
    ...(key && signs(key) ? [] : (['no signing key'] as const)),
    ...(isCertificate(text) ? [] : (['no certificate'] as const)),
  ];
}

function privateKeyOf(text: string): KeyObject | undefined {
  if (!text.includes('PRIVATE KEY-----')) return undefined;
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

/** The algorithms of runtime/authserver/keys/load-signing-key.ts. */
function signs({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'ec') return CURVES.has(details?.namedCurve ?? '');
  return type === 'ed25519' || (type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS);
}

function isCertificate(text: string): boolean {
  if (!text.includes('CERTIFICATE-----')) return false;
  try {
    return new X509Certificate(text).serialNumber !== '';
  } catch {
    return false;
  }
}
