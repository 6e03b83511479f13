import { UpstreamRefused, UpstreamUnavailable } from './provider.ts';

/** Error codes for a code or token that is finally invalid: from RFC 6749 §5.2, and from providers that send errors with HTTP 200. */
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

/** Error codes for client credentials. The same credentials may work elsewhere in the request (RFC 6749 §2.3.1). */
const CLIENT_UNKNOWN = new Set(['invalid_client', 'incorrect_client_credentials', 'bad_client_secret']);

/** Converts an error in an authorization response (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). */
export function errorOfStep(name: string, error: string): UpstreamRefused | UpstreamUnavailable {
  if (error === 'access_denied') return new UpstreamRefused(`${name}: the user denied`, { denied: true });
  const answered = error !== 'temporarily_unavailable';
  return new UpstreamUnavailable(`${name}: it sent the user back with ${wordOf(error)}`, { answered });
}

export type Endpoint = 'token' | 'user-info';

export function errorOfEndpoint(
  name: string,
  endpoint: Endpoint,
  { error, status }: { readonly error: unknown; readonly status: number },
): UpstreamRefused | UpstreamUnavailable {
  const message = `${name}: its ${endpoint} endpoint answered ${status} ${wordOf(error)}`.trimEnd();
  // RFC 6749 §5.2: 401 of a token endpoint concerns the client, so the user cannot resolve it.
  const isOver = typeof error === 'string' ? OVER.has(error) : status === 401 && endpoint === 'user-info';
  if (isOver) return new UpstreamRefused(message);
  return new UpstreamUnavailable(message, { answered: !isServerFault(status), status });
}

/** Returns whether the provider rejected the client itself and not its grant (RFC 6749 §5.2). */
export function isAboutClient(error: unknown, status: number): boolean {
  return typeof error === 'string' ? CLIENT_UNKNOWN.has(error) : status === 401;
}

/** Returns whether a retry may succeed. */
export function isServerFault(status: number): boolean {
  return status >= 500 || status === 429;
}

/** Returns the provider's error code if it is a single word, otherwise an empty text. */
function wordOf(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : '';
}
