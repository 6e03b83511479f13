import { hash, timingSafeEqual } from 'node:crypto';
import { isBlank } from '#crds/parts/primitives';
import { OAuthError } from '../errors.ts';
import type { RequestFacts } from '../handler.ts';

interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Returns the client id of a request, without authentication. */
export function readClientId({ headers }: RequestFacts, parameters: ReadonlyMap<string, string>): string {
  const named = parameters.get('client_id');
  const users = readBasic(headers.authorization).map(({ user }) => user);
  if (named !== undefined && users.length > 0 && !users.includes(named))
    throw new OAuthError('invalid_request', 'The client is named twice, and differently');
  const clientId = named ?? users[0];
  if (clientId === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing');
  return clientId;
}

/**
 * Reads Basic credentials. RFC 6749 §2.3.1 wants them form-encoded, and many clients, such as the MCP SDK, send them as they are.
 * So there are two readings, form-decoded and verbatim, if these differ; none without the header.
 */
export function readBasic(header: string | undefined): readonly Credentials[] {
  const [, encoded] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return [];
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return [];
  const verbatim = { user: text.slice(0, colon), password: text.slice(colon + 1) };
  const decoded = { user: decode(verbatim.user), password: decode(verbatim.password) };
  const isSame = decoded.user === verbatim.user && decoded.password === verbatim.password;
  return isSame ? [decoded] : [decoded, verbatim];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part.replace(/\+/g, ' '));
  } catch {
    return part;
  }
}

/** Returns the secrets that a request presents for a client: those of the Basic header, otherwise that of the body. */
export function readSecrets(
  { headers }: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clientId: string | undefined,
): readonly string[] {
  const basic = readBasic(headers.authorization);
  if (basic.length > 0) return basic.filter(({ user }) => user === clientId).map(({ password }) => password);
  const secret = parameters.get('client_secret');
  return secret === undefined ? [] : [secret];
}

/** Compares in constant time. A blank secret never fits. */
export function isSecretAmong(presented: readonly string[], secret: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const fits = presented.map((one) => timingSafeEqual(digest(one), digest(secret)));
  return fits.includes(true) && !isBlank(secret);
}
