export const REDACTED = '[redacted]';

const SECRET_NAME =
  /(authorization|cookie|password|passwd|passphrase|secret|credentials?|assertion|api[-_]?key|access[-_]?key|private[-_]?key|code[-_]?verifier|(^|[-_])auth[-_]?code|token)s?$/i;
/** Names with the ending of a secret's name that are not secret. */
const PUBLIC_NAME = /^(progress|page|next[-_]?page|continuation|max|prompt|completion|total)[-_]?tokens?$/i;

const AUTH_SCHEME = /\b(bearer|basic|dpop)( +)[A-Za-z0-9._~+/=-]{8,}/gi;
const JWT = /\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){1,4}/g;
const QUERY =
  /([?&#](?:access_token|refresh_token|id_token|token|code|client_secret|secret|password|api_?key|sig|signature)=)[^&#\s"']+/gi;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PUBLIC_NAME.test(name);
}

/** Redacts recognisable tokens in a text: after an authentication scheme, JWTs, and in a query. */
export function redactText(text: string): string {
  // Each form contains one of these; most texts contain none, and searching for a character is cheap.
  if (!text.includes(' ') && !text.includes('=') && !text.includes('eyJ')) return text;
  return text.replace(AUTH_SCHEME, `$1$2${REDACTED}`).replace(JWT, REDACTED).replace(QUERY, `$1${REDACTED}`);
}
