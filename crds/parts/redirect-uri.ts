import { isLoopbackHost } from './private-address.ts';

export const MAX_REDIRECT_URIS = 10;
export const MAX_URI_LENGTH = 2048;

/** RFC 3986 §2. Programs disagree about the meaning of other characters. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/;
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

/** Returns a loopback http URI without its port, or undefined for another URI. Other spellings of loopback do not match. */
export function withoutLoopbackPort(uri: string): string | undefined {
  return LOOPBACK.test(uri) ? uri.replace(LOOPBACK, '$1') : undefined;
}

/** Returns why a redirect URI is refused. Allowed: https, http on loopback with any port, and private schemes (RFC 8252 §7). */
export function findRedirectUriFault(uri: string): string | undefined {
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

/** Returns whether one web server alone receives the code. Any local program can listen on loopback or claim a private scheme. */
export function isWebRedirect(uri: string): boolean {
  return uri.startsWith('https://') && URL.canParse(uri) && !isLoopbackHost(new URL(uri).hostname);
}
