import { OAuthError } from '../errors.ts';
import { withoutLoopbackPort } from './match-redirect-uri.ts';

export const MAX_REDIRECT_URIS = 10;
export const MAX_URI_LENGTH = 2048;

/** RFC 3986 §2. Programs disagree about the meaning of other characters. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;
/** Schemes that run or open content in the browser, and schemes of programs that every machine has. */
const NEVER = new Set(
  [
    'about blob chrome data file filesystem intent jar javascript mhtml mk resource vbscript view-source ws wss',
    'afp ftp ftps gopher ldap ldaps nfs rlogin sftp smb ssh telnet tn3270 vnc',
    'callto facetime facetime-audio geo imap irc ircs magnet mailto news nntp sip sips sms tel webcal xmpp',
    'applescript help itms itms-apps itms-services macappstore market x-apple.systempreferences',
    'hcp ms-access ms-appinstaller ms-cxh ms-excel ms-infopath ms-msdt ms-officecmd ms-powerpoint ms-project',
    'ms-publisher ms-settings ms-spd ms-visio ms-word res search search-ms shell',
  ].flatMap((line) => line.split(' ')),
);

/** Allows https, http on loopback with any port, and private schemes (RFC 8252 §7). @throws OAuthError `invalid_redirect_uri` */
export function checkRedirectUri(uri: string): void {
  const reason = faultOf(uri);
  if (reason !== undefined) throw new OAuthError('invalid_redirect_uri', `A redirect URI is refused: ${reason}`);
}

function faultOf(uri: string): string | undefined {
  if (uri.length > MAX_URI_LENGTH) return `longer than ${MAX_URI_LENGTH} characters`;
  if (uri.includes('#')) return 'it has a fragment';
  if (!URI.test(uri) || !URL.canParse(uri)) return 'it is no URI';
  const [, authority = ''] = /^[^:]+:\/\/([^/?]*)/.exec(uri) ?? [];
  if (authority.includes('@')) return 'it has user information';
  return schemeFaultOf(uri, new URL(uri).protocol.slice(0, -1), authority);
}

function schemeFaultOf(uri: string, scheme: string, authority: string): string | undefined {
  if (NEVER.has(scheme)) return 'its scheme is not allowed';
  if (scheme === 'http' && withoutLoopbackPort(uri) === undefined) {
    return 'plain http is for 127.0.0.1, [::1] and localhost only; use https';
  }
  return scheme === 'https' && authority === '' ? 'it names no host' : undefined;
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
