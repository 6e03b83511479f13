import { createLocalJWKSet, importJWK, type JWK, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { ALGORITHMS } from './algorithms.ts';
import { IdpUnavailable } from './json-client.ts';

/** The keys that verify tokens at one time. A set with other keys is another object. */
export interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** Equal for two sets with the same keys. */
  readonly fingerprint: string;
  /** Reasons why keys of the document are unusable, e.g. `kid 7: private`. */
  readonly unusable: readonly string[];
}

const MAX_KEYS = 100;
const MIN_RSA_BYTES = 256;
/** A JWKS document (RFC 7517 §5). Its keys may be unusable. */
export const Jwks = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(MAX_KEYS) });
const DEFAULT_ALGORITHM: Record<string, string> = { RSA: 'RS256', EC: 'ES256', OKP: 'EdDSA' };
const CURVE_ALGORITHM: Record<string, string> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };

/** An unusable key does not invalidate the others. Returns `former` if its keys are the same. @throws IdpUnavailable if no key is usable */
export async function readKeySet(document: unknown, former: KeySet | undefined): Promise<KeySet> {
  const parsed = Jwks.safeParse(document);
  if (!parsed.success) throw new IdpUnavailable('the key set is no JWKS document');
  const keys: JWK[] = [];
  const unusable: string[] = [];
  for (const key of parsed.data.keys as JWK[]) {
    const fault = key.use === 'enc' ? undefined : await faultOf(key);
    if (fault !== undefined)
      unusable.push(`${typeof key.kid === 'string' ? `kid ${key.kid.slice(0, 64)}` : 'no kid'}: ${fault}`);
    else if (key.use !== 'enc') keys.push(key);
  }
  if (keys.length === 0)
    throw new IdpUnavailable(`the key set has no usable key${unusable.map((text) => `; ${text}`).join('')}`);
  const fingerprint = keys.map(identify).sort().join('\n');
  if (former?.fingerprint === fingerprint) return former;
  return { find: createLocalJWKSet({ keys }), fingerprint, unusable };
}

async function faultOf(key: JWK): Promise<string | undefined> {
  if (key.kty === 'oct') return 'a shared secret';
  if (key.d !== undefined) return 'private';
  const algorithm = key.alg ?? CURVE_ALGORITHM[key.crv ?? ''] ?? DEFAULT_ALGORITHM[key.kty ?? ''];
  if (algorithm === undefined || !ALGORITHMS.includes(algorithm)) return 'an algorithm that is not accepted';
  if (key.kty === 'RSA' && Buffer.from(String(key.n), 'base64url').length < MIN_RSA_BYTES)
    return 'shorter than 2048 bits';
  try {
    await importJWK(key, algorithm);
    return undefined;
  } catch {
    return 'malformed';
  }
}

function identify(key: JWK): string {
  return JSON.stringify([key.kid, key.alg, key.kty, key.crv, key.n, key.e, key.x, key.y]);
}
