import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from 'jose';

/** The keys of an issuer, newest first. */
export interface SigningKeys {
  private: JWK[];
  /** Adds a key that signs from now on. Older ones still verify, unless they are dropped. */
  rotate(options?: { dropOld?: boolean }): Promise<void>;
  verifier(): ReturnType<typeof createLocalJWKSet>;
  /** Signs claims with the newest key, without any check. */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
}

async function generateKey(serial: number): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `key-${serial}`, alg: 'RS256', use: 'sig' };
}

const publicPart = ({ kty, n, e, kid, alg, use }: JWK): JWK => ({ kty, n, e, kid, alg, use }) as JWK;

/** Returns the keys of an earlier start, or makes an RSA key in memory. */
export async function createSigningKeys(former?: JWK[]): Promise<SigningKeys> {
  let serial = former?.length ?? 1;
  let keys = former ?? [await generateKey(serial)];
  return {
    get private() {
      return keys;
    },
    async rotate({ dropOld = false } = {}) {
      serial += 1;
      keys = [await generateKey(serial), ...(dropOld ? [] : keys.slice(0, 3))];
    },
    verifier: () => createLocalJWKSet({ keys: keys.map(publicPart) }),
    sign(claims, header = {}) {
      const [key] = keys;
      if (!key) throw new Error('no key');
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid ?? '', ...header }).sign(key);
    },
  };
}
