import { decodeJwt } from 'jose';
import { z } from 'zod';
import type { RequestError } from '#runtime/errors';
import { exchangeError, type ExchangeErrorCode } from './exchange-error.ts';
import type { FormAnswer } from './post-form.ts';

/** RFC 6750 §2.1 b64token. The limit keeps headers within the limits of servers. */
const BEARER = /^[A-Za-z0-9._~+/-]{1,16384}=*$/;
const ISSUED_TYPES = new Set(['urn:ietf:params:oauth:token-type:access_token', 'urn:ietf:params:oauth:token-type:jwt']);
/** Milliseconds. Lifetime of an opaque token without `expires_in`. */
const UNKNOWN_LIFETIME = 60_000;
/** RFC 6749 §5.2 and RFC 8693 §2.2.2: errors about this server, not about the caller. */
const OWN_ERRORS = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type']);

/** RFC 8693 §2.2.1. Some servers write `expires_in` as a string. */
const Success = z.object({
  access_token: z.string().regex(BEARER),
  issued_token_type: z.string(),
  token_type: z.string(),
  expires_in: z.coerce.number().positive().optional(),
  scope: z.string().optional(),
});
const Failure = z.object({ error: z.string().regex(/^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/) });
const Claims = z.object({
  aud: z.union([z.string(), z.array(z.string())]).optional(),
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

interface ExchangeExpectation {
  readonly backend: string;
  readonly audience: string | undefined;
  readonly scopes: readonly string[];
  readonly subjectToken: string;
  readonly now: number;
}

/** Returns the token of a token endpoint's answer if it matches the request. @throws RequestError */
export function readExchangeAnswer(answer: FormAnswer, expected: ExchangeExpectation): IssuedToken {
  if (answer.status !== 200) throw refusal(answer, expected.backend);
  const success = Success.safeParse(jsonOf(answer));
  if (!success.success) {
    const members = success.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw invalid(expected, `answer is no token response (${answer.mediaType || 'no content type'}; ${members})`);
  }
  const token = success.data;
  const claims = claimsOf(token.access_token);
  checkKind(token, expected);
  checkScope(token.scope ?? claims?.scope, expected);
  checkAudience(claims, expected);
  return { accessToken: token.access_token, expiresAt: expiryOf(token, claims, expected) };
}

function checkKind(token: Success, expected: ExchangeExpectation): void {
  if (!ISSUED_TYPES.has(token.issued_token_type)) throw invalid(expected, 'issued_token_type is no access token');
  if (token.token_type.toLowerCase() !== 'bearer') throw invalid(expected, 'token_type is not Bearer');
  // An endpoint that returns the caller's own token would cause it to be sent to the backend.
  if (token.access_token === expected.subjectToken) throw invalid(expected, 'the subject token itself was returned');
}

function checkScope(granted: string | undefined, expected: ExchangeExpectation): void {
  if (granted === undefined || expected.scopes.length === 0) return;
  const wider = granted.split(' ').filter((scope) => scope !== '' && !expected.scopes.includes(scope));
  if (wider.length > 0)
    throw invalid(expected, `granted scopes that were not asked for: ${wider.join(' ').slice(0, 256)}`);
}

/** Checks that a JWT is for the requested audience. Opaque tokens cannot be checked. */
function checkAudience(claims: Claims | undefined, expected: ExchangeExpectation): void {
  if (claims === undefined || expected.audience === undefined) return;
  const audiences = typeof claims.aud === 'string' ? [claims.aud] : (claims.aud ?? []);
  if (!audiences.includes(expected.audience)) {
    throw invalid(
      expected,
      `the token is for ${audiences.join(' ').slice(0, 256) || 'no audience'}, not the one asked for`,
    );
  }
}

function expiryOf(token: Success, claims: Claims | undefined, expected: ExchangeExpectation): number {
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

function refusal(answer: FormAnswer, backend: string): RequestError {
  const failure = Failure.safeParse(jsonOf(answer));
  const error = failure.success ? failure.data.error : 'no OAuth error';
  return exchangeError(codeOf(answer.status, error), backend, new Error(`status ${answer.status}: ${error}`));
}

function codeOf(status: number, error: string): ExchangeErrorCode {
  if (status >= 500 || status === 429 || status === 408) return 'token_exchange_unavailable';
  if (status < 400) return 'token_exchange_invalid';
  if (status === 401 || OWN_ERRORS.has(error)) return 'token_exchange_misconfigured';
  return error === 'no OAuth error' ? 'token_exchange_invalid' : 'token_exchange_refused';
}

function invalid({ backend }: ExchangeExpectation, reason: string): RequestError {
  return exchangeError('token_exchange_invalid', backend, new Error(reason));
}
