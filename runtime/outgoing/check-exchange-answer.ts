import { decodeJwt, decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import type { RequestError } from '#runtime/errors';
import { exchangeError, type ExchangeErrorCode } from './exchange-error.ts';
import type { FormAnswer } from './post-form.ts';

/** RFC 6750 §2.1 b64token. The limit keeps headers within the limits of servers. */
const BEARER = /^[A-Za-z0-9._~+/-]{1,16384}=*$/;
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ISSUED_TYPES = new Set(['urn:ietf:params:oauth:token-type:access_token', 'urn:ietf:params:oauth:token-type:jwt']);
/** Milliseconds. Lifetime of an opaque token without `expires_in`. */
const UNKNOWN_LIFETIME = 60_000;
/** RFC 6749 §5.2 and RFC 8693 §2.2.2: errors about this server, not about the caller. */
const OWN_ERRORS = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type']);

/** RFC 6749 §5.1. Some servers write `expires_in` as a string. */
const Success = z.object({
  access_token: z.string().regex(BEARER),
  token_type: z.string(),
  expires_in: z.coerce.number().positive().optional(),
  scope: z.string().optional(),
});
/** RFC 8693 §2.2.1. */
const Exchanged = Success.extend({ issued_token_type: z.string() });
const Failure = z.object({ error: z.string().regex(/^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/) });
const Header = z.object({ typ: z.string() });
const Texts = z.union([z.string(), z.array(z.string())]).optional();
const Claims = z.object({
  aud: Texts,
  resource: Texts,
  exp: z.number().optional(),
  scope: z.string().optional(),
});
type Success = z.infer<typeof Success>;
type Claims = z.infer<typeof Claims>;

export interface IssuedToken {
  readonly accessToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface TokenExpectation {
  readonly backend: string;
  readonly audience?: string | undefined;
  readonly scopes: readonly string[];
  /** The token that was sent. An endpoint that returns it would cause it to be sent to the backend. */
  readonly subjectToken?: string;
  /** The request names vmcp's own client only, so each refusal is about this server. */
  readonly isOwn?: boolean;
  readonly now: number;
}

interface AssertionExpectation extends TokenExpectation {
  readonly audience: string;
  readonly resource: string | undefined;
  readonly subjectToken: string;
}

interface Assertion {
  readonly text: string;
  /** Scopes that the identity provider granted, or else those that were asked for. */
  readonly scopes: readonly string[];
}

/** Returns the token of an exchange's answer if it matches the request. @throws RequestError */
export function readExchangeAnswer(answer: FormAnswer, expected: TokenExpectation): IssuedToken {
  const token = read(Exchanged, answer, expected);
  if (!ISSUED_TYPES.has(token.issued_token_type)) throw invalid(expected, 'issued_token_type is no access token');
  return checkToken(token, expected);
}

/** Returns the token of any other token endpoint's answer (RFC 6749 §5.1) if it matches the request. @throws RequestError */
export function readTokenAnswer(answer: FormAnswer, expected: TokenExpectation): IssuedToken {
  return checkToken(read(Success, answer, expected), expected);
}

/**
 * Returns the ID-JAG of an identity provider's answer if it is for the target only. Its signature is for the target to verify.
 * draft-ietf-oauth-identity-assertion-authz-grant-04 §4.3. @throws RequestError
 */
export function readAssertionAnswer(answer: FormAnswer, expected: AssertionExpectation): Assertion {
  const { access_token: text, ...token } = read(Exchanged, answer, expected);
  if (token.issued_token_type !== ID_JAG) throw invalid(expected, 'issued_token_type is no ID-JAG');
  if (token.token_type.toLowerCase() !== 'n_a') throw invalid(expected, 'token_type is not N_A');
  if (text === expected.subjectToken) throw invalid(expected, 'the subject token itself was returned');
  const claims = claimsOf(text);
  if (claims === undefined || !isAssertion(text))
    throw invalid(expected, 'the assertion is no JWT of typ oauth-id-jag+jwt');
  checkTarget(claims, expected);
  checkScope(token.scope, expected);
  expiryOf(token, claims, expected);
  const granted = expected.scopes.length === 0 ? undefined : token.scope?.split(' ').filter((scope) => scope !== '');
  return { text, scopes: granted ?? expected.scopes };
}

/** An ID-JAG for several audiences could be redeemed elsewhere. Some identity providers write no `resource`. */
function checkTarget({ aud, resource }: Claims, expected: AssertionExpectation): void {
  const audiences = listOf(aud);
  if (audiences.length !== 1 || audiences[0] !== expected.audience)
    throw invalid(expected, `the ID-JAG is for ${shown(audiences)}, not for targetAudience alone`);
  const resources = listOf(resource);
  if (resource === undefined || expected.resource === undefined || resources.includes(expected.resource)) return;
  throw invalid(expected, `the ID-JAG is for the resource ${shown(resources)}, not for targetResource`);
}

function isAssertion(text: string): boolean {
  try {
    const { typ } = Header.parse(decodeProtectedHeader(text));
    return typ.toLowerCase().replace(/^application\//, '') === 'oauth-id-jag+jwt';
  } catch {
    return false;
  }
}

const listOf = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? [value] : (value ?? []));
const shown = (values: readonly string[]) => values.join(' ').slice(0, 256) || 'none';

function read<S extends typeof Success>(schema: S, answer: FormAnswer, expected: TokenExpectation): z.output<S> {
  if (answer.status !== 200) throw refusal(answer, expected);
  const success = schema.safeParse(jsonOf(answer));
  if (success.success) return success.data;
  const members = success.error.issues.map((issue) => issue.path.join('.')).join(', ');
  throw invalid(expected, `answer is no token response (${answer.mediaType || 'no content type'}; ${members})`);
}

function checkToken(token: Success, expected: TokenExpectation): IssuedToken {
  if (token.token_type.toLowerCase() !== 'bearer') throw invalid(expected, 'token_type is not Bearer');
  if (token.access_token === expected.subjectToken) throw invalid(expected, 'the subject token itself was returned');
  const claims = claimsOf(token.access_token);
  checkScope(token.scope ?? claims?.scope, expected);
  checkAudience(claims, expected);
  return { accessToken: token.access_token, expiresAt: expiryOf(token, claims, expected) };
}

function checkScope(granted: string | undefined, expected: TokenExpectation): void {
  if (granted === undefined || expected.scopes.length === 0) return;
  const wider = granted.split(' ').filter((scope) => scope !== '' && !expected.scopes.includes(scope));
  if (wider.length > 0)
    throw invalid(expected, `granted scopes that were not asked for: ${wider.join(' ').slice(0, 256)}`);
}

/** Checks that a JWT is for the requested audience. Opaque tokens cannot be checked. */
function checkAudience(claims: Claims | undefined, expected: TokenExpectation): void {
  if (claims === undefined || expected.audience === undefined) return;
  const audiences = listOf(claims.aud);
  if (!audiences.includes(expected.audience)) {
    throw invalid(
      expected,
      `the token is for ${audiences.join(' ').slice(0, 256) || 'no audience'}, not the one asked for`,
    );
  }
}

function expiryOf(token: Pick<Success, 'expires_in'>, claims: Claims | undefined, expected: TokenExpectation): number {
  const stated = token.expires_in === undefined ? Infinity : expected.now + token.expires_in * 1000;
  const earliest = Math.min(stated, claims?.exp === undefined ? Infinity : claims.exp * 1000);
  if (earliest <= expected.now) throw invalid(expected, 'the token has expired already');
  return earliest === Infinity ? expected.now + UNKNOWN_LIFETIME : earliest;
}

function claimsOf(accessToken: string): Claims | undefined {
  try {
    return Claims.parse(decodeJwt(accessToken));
  } catch {
    return undefined;
  }
}

function jsonOf(answer: FormAnswer): unknown {
  try {
    return JSON.parse(answer.body) as unknown;
  } catch {
    return undefined;
  }
}

function refusal(answer: FormAnswer, { backend, isOwn = false }: TokenExpectation): RequestError {
  const failure = Failure.safeParse(jsonOf(answer));
  const error = failure.success ? failure.data.error : 'no OAuth error';
  const code = codeOf(answer.status, error);
  const about = isOwn && code === 'token_exchange_refused' ? 'token_exchange_misconfigured' : code;
  return exchangeError(about, backend, new Error(`status ${answer.status}: ${error}`));
}

function codeOf(status: number, error: string): ExchangeErrorCode {
  if (status >= 500 || status === 429 || status === 408) return 'token_exchange_unavailable';
  if (status < 400) return 'token_exchange_invalid';
  if (status === 401 || OWN_ERRORS.has(error)) return 'token_exchange_misconfigured';
  return error === 'no OAuth error' ? 'token_exchange_invalid' : 'token_exchange_refused';
}

function invalid({ backend }: TokenExpectation, reason: string): RequestError {
  return exchangeError('token_exchange_invalid', backend, new Error(reason));
}
