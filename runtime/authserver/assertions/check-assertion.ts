import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { LEEWAY_SECONDS, verifyJwt } from '#runtime/incoming/verify-jwt';
import { OAuthError } from '../errors.ts';
import type { AssertionIssuer, AssertionIssuers } from './assertion-issuers.ts';

/** `typ` of an Identity Assertion JWT Authorization Grant, in lower case and without `application/`. */
const TYPES = ['oauth-id-jag+jwt'];
const MAX_ID = 1_024;

export interface AssertionRules {
  readonly issuers: Pick<AssertionIssuers, 'get'>;
  /** Issuer of this server, the only audience. */
  readonly audience: string;
  /** The authenticated client. */
  readonly clientId: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface CheckedAssertion {
  readonly issuer: AssertionIssuer;
  readonly claims: JWTPayload & { readonly exp: number; readonly iat: number; readonly jti: string };
}

/** Checks an assertion (draft-ietf-oauth-identity-assertion-authz-grant-04 §4.4.1). @throws OAuthError `invalid_grant`, 503 */
export async function checkAssertion(text: string, rules: AssertionRules): Promise<CheckedAssertion> {
  const { header, issuer: named } = decode(text);
  const issuer = rules.issuers.get(named);
  // Before the keys are read: an unknown issuer or client causes no request.
  if (issuer?.clients.has(rules.clientId) !== true)
    throw refused('Its issuer is not trusted here for assertions of this client');
  const challenges = { invalid: (_reason: string, cause?: unknown) => refused(NOT_VALID, cause), unavailable };
  const expected = { issuer: named, audience: rules.audience, types: TYPES, challenges, now: rules.now };
  const { claims } = await verifyJwt(text, header, expected, issuer.keys);
  checkParties(claims, rules);
  checkTenant(claims, issuer);
  return { issuer, claims: { ...claims, ...readTimes(claims, issuer, rules.now() / 1000) } };
}

const NOT_VALID =
  'It needs a signature by a key of its issuer, the type oauth-id-jag+jwt, and aud with the issuer of this server; it must not have expired';

function decode(text: string) {
  try {
    return { header: decodeProtectedHeader(text), issuer: decodeJwt(text).iss ?? '' };
  } catch (cause) {
    throw refused(NOT_VALID, cause);
  }
}

/** `aud` must be this server alone: another audience could redeem the assertion here, and the reverse. */
function checkParties({ aud, client_id: client, cnf, jti }: JWTPayload, { audience, clientId }: AssertionRules): void {
  const audiences = [aud].flat();
  if (audiences.length !== 1 || audiences[0] !== audience) throw refused('Its audience is not this server alone');
  if (client !== clientId) throw refused('It is for another client');
  if (cnf !== undefined) throw refused('It is bound to a key of the client, and this server does not support that');
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID) throw refused('It has no jti');
}

/** The subjects of two tenants may be equal. */
function checkTenant({ tenant }: JWTPayload, { config }: AssertionIssuer): void {
  if (tenant !== config.tenant) throw refused('Its tenant is not the configured one');
}

function readTimes({ iat, exp = 0, jti = '', sub }: JWTPayload, { config }: AssertionIssuer, now: number) {
  if (typeof sub !== 'string' || sub === '') throw refused('It has no sub');
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw refused('It has no iat');
  if (iat > now + LEEWAY_SECONDS) throw refused('It was issued in the future');
  if (exp <= iat || exp - iat > config.max_lifetime / 1000) throw refused('It is valid for too long a time');
  return { iat, exp, jti };
}

/** `text` tells what is wrong with the assertion. */
export function refused(text: string, cause?: unknown): OAuthError {
  return new OAuthError('invalid_grant', `The assertion is refused. ${text}`, { cause });
}

function unavailable(cause: unknown): OAuthError {
  const text = 'The keys of the identity provider cannot be read; try again soon';
  return new OAuthError('temporarily_unavailable', text, { cause });
}
