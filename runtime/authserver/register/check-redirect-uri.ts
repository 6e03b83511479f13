import { findRedirectUriFault } from '#crds/parts/redirect-uri';
import { OAuthError } from '../errors.ts';

/** Checks a redirect URI. @throws OAuthError `invalid_redirect_uri` */
export function checkRedirectUri(uri: string): void {
  const reason = findRedirectUriFault(uri);
  if (reason !== undefined) throw new OAuthError('invalid_redirect_uri', `A redirect URI is refused: ${reason}`);
}

/** `hosts` (host, host:port, or `*.` and a suffix) restricts https URIs only; undefined allows every host. */
export function isAllowedHost(uri: string, hosts: readonly string[] | undefined): boolean {
  const { protocol, hostname, host, port } = new URL(uri);
  // The scheme may be in capitals (RFC 3986 §3.1).
  if (hosts === undefined || protocol !== 'https:') return true;
  const written = port === '' ? `${host}:443` : host;
  return hosts.some((allowed) => {
    const pattern = allowed.toLowerCase();
    const asked = /:\d{1,5}$/.test(pattern) ? written : hostname;
    return pattern.startsWith('*.') ? asked.endsWith(pattern.slice(1)) : asked === pattern;
  });
}
