import { hash, timingSafeEqual } from 'node:crypto';
import { OAuthError } from '../errors.ts';

/** RFC 7636 §4.1 */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Checks the PKCE verifier (RFC 7636 §4.6), S256 only. @throws OAuthError `invalid_grant` */
export function checkVerifier(verifier: string | undefined, challenge: string): void {
  if (verifier === undefined) throw new OAuthError('invalid_request', 'The parameter code_verifier is missing');
  const expected = Buffer.from(challenge);
  const given = Buffer.from(hash('sha256', verifier, 'base64url'));
  const fits = given.length === expected.length && timingSafeEqual(given, expected);
  if (!fits || !VERIFIER.test(verifier))
    throw new OAuthError('invalid_grant', 'The code_verifier does not fit the code');
}

/** Checks that the resource is absent or equals the granted one byte for byte (RFC 8707 §2.2). @throws OAuthError `invalid_target` */
export function checkResource(asked: readonly string[], granted: string): void {
  const named = asked.filter((resource) => resource !== '');
  if (named.length === 0 || (named.length === 1 && named[0] === granted)) return;
  throw new OAuthError(
    'invalid_target',
    'The resource is not the one that was granted; they are compared byte for byte',
  );
}

/** Drops unsupported scopes, as the authorization endpoint does. @throws OAuthError `invalid_scope` for additional ones (RFC 6749 §6) */
export function narrowScope(
  asked: string | undefined,
  granted: readonly string[],
  supported: readonly string[],
): readonly string[] {
  if (asked === undefined) return granted;
  const named = [...new Set(asked.split(' '))].filter((scope) => granted.includes(scope) || supported.includes(scope));
  if (named.length === 0) return granted;
  if (named.every((scope) => granted.includes(scope))) return named;
  throw new OAuthError('invalid_scope', 'A refreshed token cannot have more scopes than were granted');
}
