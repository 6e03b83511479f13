import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWK, type JWTPayload } from 'jose';
import { CLIENT_ID, CLIENT_SECRET, type IdTokenFault } from './options.ts';

export interface IdTokens {
  readonly keys: () => readonly JWK[];
  issue(
    about: { sub: string; nonce: string | null; claims: JWTPayload },
    fault: IdTokenFault | undefined,
  ): Promise<string>;
  /** Replaces the signing key, and stops publishing the former one. */
  rotate(): Promise<void>;
}

const WRONG: Readonly<Partial<Record<IdTokenFault, JWTPayload>>> = {
  issuer: { iss: 'https://elsewhere.example' },
  'other-user': { sub: 'somebody-else' },
  audience: { aud: 'another-client' },
  nonce: { nonce: 'not-the-one' },
};

export async function createIdTokens(issuer: string): Promise<IdTokens> {
  let serial = 1;
  let pair = await generateKeyPair('ES256');
  const foreign = await generateKeyPair('ES256');
  let keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }];

  return {
    keys: () => keys,
    async rotate() {
      serial += 1;
      pair = await generateKeyPair('ES256');
      keys = [{ ...(await exportJWK(pair.publicKey)), kid: `k${serial}`, alg: 'ES256', use: 'sig' }];
    },
    async issue({ sub, nonce, claims }, fault) {
      const now = Math.floor(Date.now() / 1000) - (fault === 'expired' ? 7_200 : 0);
      const payload: JWTPayload = {
        ...claims,
        iss: issuer,
        sub,
        aud: CLIENT_ID,
        iat: now,
        exp: now + 3_600,
        ...(nonce !== null && { nonce }),
        ...(fault && WRONG[fault]),
      };
      if (fault === 'alg-none') return new UnsecuredJWT(payload).encode();
      if (fault === 'shared-secret') {
        const key = new TextEncoder().encode(CLIENT_SECRET.padEnd(32));
        return new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(key);
      }
      const kid = fault === 'foreign-key' ? 'unknown' : `k${serial}`;
      const key = fault === 'signature' || fault === 'foreign-key' ? foreign.privateKey : pair.privateKey;
      return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid }).sign(key);
    },
  };
}
