import { randomUUID } from 'node:crypto';
import { jwtVerify, type JWTPayload } from 'jose';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { SigningKeys } from './signing-keys.ts';

export const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
/** Seconds. */
const LIFETIME = 300;

interface IdJagParameters {
  subject_token?: string;
  subject_token_type?: string;
  audience?: string;
  resource?: string | string[] | undefined;
  scope?: string | undefined;
}

/** The client of a gateway at the servers that redeem its assertions. */
export const TARGET_CLIENT = { id: 'vmcp-at-target', secret: 'target+secret-of-the-gateway' };

async function readIdToken(token: string, audience: string, keys: SigningKeys, issuer: string): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys.verifier(), { issuer, audience })).payload;
  } catch {
    throw new errors.InvalidRequest('subject_token is not valid');
  }
}

/** Issues an ID-JAG for an ID token of the client (draft-ietf-oauth-identity-assertion-authz-grant-04 §4.3). */
export async function issueIdJag(
  context: KoaContextWithOIDC,
  { params, client, keys, issuer }: { params: IdJagParameters; client: string; keys: SigningKeys; issuer: string },
): Promise<void> {
  if (params.subject_token_type !== ID_TOKEN) throw new errors.InvalidRequest('subject_token_type is not supported');
  if (params.audience === undefined) throw new errors.InvalidTarget('audience is missing');
  const { sub = '' } = await readIdToken(params.subject_token ?? '', client, keys, issuer);
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: issuer, sub, aud: params.audience, client_id: TARGET_CLIENT.id },
    ...(params.resource !== undefined && { resource: params.resource }),
    ...(params.scope !== undefined && { scope: params.scope }),
    ...{ jti: randomUUID(), iat, exp: iat + LIFETIME },
  };
  context.body = {
    access_token: await keys.sign(claims, { typ: 'oauth-id-jag+jwt' }),
    issued_token_type: ID_JAG,
    token_type: 'N_A',
    expires_in: LIFETIME,
    ...(params.scope !== undefined && { scope: params.scope }),
  };
}
