import type { OAuthErrorCode } from '../errors.ts';
import { redirectAnswer, type Answer } from '../handler.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

/** What a client gets at its redirect URI: a code, or an error in fixed words. */
type AuthorizeResponse =
  { readonly code: string } | { readonly error: OAuthErrorCode; readonly error_description: string };

/**
 * Sends the browser back to the client (RFC 6749 §4.1.2), always with `iss` (RFC 9207) and with the client's state. The URI was
 * checked; it is not written anew, as clients compare it byte for byte.
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
