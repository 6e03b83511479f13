import type { OAuthErrorCode } from '../errors.ts';
import { redirectAnswer, type Answer } from '../handler.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

/** Parameters of the redirect to a client: a code, or an error with fixed text. */
type AuthorizeResponse =
  { readonly code: string } | { readonly error: OAuthErrorCode; readonly error_description: string };

/**
 * Redirects the browser to the client (RFC 6749 §4.1.2) with `iss` (RFC 9207) and the client's state. The URI was
 * checked before; it stays unchanged byte for byte, because clients compare it so.
 */
export function answerClient(
  { redirect_uri: uri, state }: Pick<AuthorizeRequest, 'redirect_uri' | 'state'>,
  issuer: string,
  response: AuthorizeResponse,
  headers: Answer['headers'] = {},
): Answer {
  const query = new URLSearchParams({ ...response, ...(state !== undefined && { state }), iss: issuer });
  const joint = uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?';
  return redirectAnswer(uri + joint + query.toString(), headers);
}
