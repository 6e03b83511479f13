import { RequestError } from '#runtime/errors';

/** Fixed texts of a 401. They name the remedy and contain no part of the request. */
const INVALID_TOKEN = {
  malformed: 'The access token is malformed',
  repeated: 'Send exactly one Authorization header',
  expired: 'The access token has expired',
  notYetValid: 'The access token is not valid yet',
  issuer: 'The access token comes from another issuer',
  audience: 'The access token is for another audience',
  subject: 'The access token is for a subject that is not accepted here',
  kind: 'The token is not an access token',
  claims: 'The access token carries more claims than are accepted',
  unverified: 'The access token could not be verified',
  inactive: 'The access token is not active',
  ended: 'The login behind the access token has ended',
} as const;
export type InvalidToken = keyof typeof INVALID_TOKEN;

/** Refusals of boundary 1, as RFC 6750 §3 and RFC 9728 §5.1 require. */
export interface Challenges {
  /** Returns a 401 without an `error`: the client did not know that a token is required. */
  missing(): RequestError;
  invalid(reason: InvalidToken, cause?: unknown): RequestError;
  /** Returns a 403 that names the held and the missing scopes, so that a new token loses none. */
  insufficientScope(held: readonly string[]): RequestError;
  unavailable(cause: unknown): RequestError;
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const MAX_SCOPES = 64;

export function createChallenges(settings: { metadataUrl: string | undefined; scopes: readonly string[] }): Challenges {
  const { metadataUrl, scopes } = settings;
  const refuse = (status: number, code: string, text: string, parameters: Parameters, cause?: unknown) =>
    new RequestError({ status, code, text, headers: { 'WWW-Authenticate': challenge(parameters) } }, { cause });
  return {
    missing: () =>
      refuse(401, 'unauthorized', 'This endpoint needs an access token', {
        resource_metadata: metadataUrl,
        scope: scopes.join(' '),
      }),
    invalid: (reason, cause) =>
      refuse(
        401,
        'invalid_token',
        INVALID_TOKEN[reason],
        {
          resource_metadata: metadataUrl,
          error: 'invalid_token',
          error_description: INVALID_TOKEN[reason],
          scope: scopes.join(' '),
        },
        cause,
      ),
    insufficientScope: (held) =>
      refuse(403, 'insufficient_scope', 'The access token lacks a required scope', {
        resource_metadata: metadataUrl,
        error: 'insufficient_scope',
        error_description: 'The access token lacks a required scope',
        scope: union(scopes, held).join(' '),
      }),
    unavailable: (cause) =>
      new RequestError(
        {
          status: 503,
          code: 'authentication_unavailable',
          text: 'Access tokens cannot be verified at the moment',
          headers: { 'Retry-After': '5' },
        },
        { cause },
      ),
  };
}

type Parameters = Record<string, string | undefined>;

function challenge(parameters: Parameters): string {
  const shown = Object.entries(parameters).flatMap(([name, value]) => (value ? [`${name}="${value}"`] : []));
  return shown.length > 0 ? `Bearer ${shown.join(', ')}` : 'Bearer';
}

/** Held scopes are external input: the header takes only those that RFC 6749 §3.3 allows in a quoted string. */
function union(required: readonly string[], held: readonly string[]): string[] {
  return [...new Set([...required, ...held.filter((scope) => SCOPE.test(scope))])].slice(0, MAX_SCOPES);
}
