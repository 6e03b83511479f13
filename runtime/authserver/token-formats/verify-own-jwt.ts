import { createLocalJWKSet, errors, jwtVerify, type JSONWebKeySet } from 'jose';
import { z } from 'zod';

const Claims = z.object({
  sub: z.string(),
  aud: z.string(),
  client_id: z.string(),
  scope: z.string(),
  tsid: z.string(),
  jti: z.string(),
  iat: z.number(),
  exp: z.number(),
});
export type OwnClaims = z.infer<typeof Claims>;

export async function verifyOwnJwt(
  token: string,
  { jwks, issuer, now }: { readonly jwks: JSONWebKeySet; readonly issuer: string; readonly now: number },
): Promise<OwnClaims | undefined> {
  try {
    const options = { issuer, typ: 'at+jwt', currentDate: new Date(now) };
    const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), options);
    return Claims.safeParse(payload).data;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
