import { UpstreamRefused, UpstreamUnavailable } from './provider.ts';

/** What OAuth 2.0 (RFC 6749 §5.2) and providers that answer errors at HTTP 200 call a code or token that is over for good. */
const OVER = new Set([
  'invalid_grant',
  // GitHub
  'bad_refresh_token',
  'bad_verification_code',
  // Slack
  'invalid_refresh_token',
  'invalid_code',
  'code_already_used',
  'invalid_auth',
  'token_revoked',
  'token_expired',
  'account_inactive',
]);

/** Answers that a client with the same credentials in another place of the request may not get (RFC 6749 §2.3.1). */
const CLIENT_UNKNOWN = new Set(['invalid_client', 'incorrect_client_credentials', 'bad_client_secret']);

/** An error in an authorization response (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). */
export function errorOfLeg(name: string, error: string): UpstreamRefused | UpstreamUnavailable {
  if (error === 'access_denied') return new UpstreamRefused(`${name}: the user denied`, { denied: true });
  const answered = error !== 'temporarily_unavailable';
  return new UpstreamUnavailable(`${name}: it sent the user back with ${wordOf(error)}`, { answered });
}

/** Where an error came from. */
export type Endpoint = 'token' | 'user-info';

/** `error` is the word in the answer, if there is one. */
export function errorOfEndpoint(
  name: string,
  endpoint: Endpoint,
  { error, status }: { readonly error: unknown; readonly status: number },
): UpstreamRefused | UpstreamUnavailable {
  const message = `${name}: its ${endpoint} endpoint answered ${status} ${wordOf(error)}`.trimEnd();
  // At a token endpoint 401 is about the client, and no user can help (RFC 6749 §5.2).
  const isOver = typeof error === 'string' ? OVER.has(error) : status === 401 && endpoint === 'user-info';
  if (isOver) return new UpstreamRefused(message);
  return new UpstreamUnavailable(message, { answered: !isServerFault(status), status });
}

/** Whether the provider refused the client and not what it brought (RFC 6749 §5.2). */
export function isAboutClient(error: unknown, status: number): boolean {
  return typeof error === 'string' ? CLIENT_UNKNOWN.has(error) : status === 401;
}

/** It may well answer later. */
export function isServerFault(status: number): boolean {
  return status >= 500 || status === 429;
}

/** What a provider calls an error is shown only where it is a word. */
function wordOf(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : '';
}
