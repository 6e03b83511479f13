import type { OAuthErrorCode } from '../errors.ts';
import { redirectAnswer, type Answer } from '../handler.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

type AuthorizeResponse =
  { readonly code: string } | { readonly error: OAuthErrorCode; readonly error_description: string };

/** RFC 6749 §4.1.2, with `iss` (RFC 9207). The checked URI stays unchanged byte for byte, because clients compare it so. */
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
