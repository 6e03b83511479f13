import { OAuthError } from '../errors.ts';
import type { RequestFacts } from '../handler.ts';

/** Returns the client id of a request. All clients are public, whatever they requested at registration, so a secret is ignored. */
export function readClientId({ headers }: RequestFacts, parameters: ReadonlyMap<string, string>): string {
  const named = parameters.get('client_id');
  const basic = readBasic(headers.authorization)?.user;
  if (named !== undefined && basic !== undefined && named !== basic)
    throw new OAuthError('invalid_request', 'The client is named twice, and differently');
  const clientId = named ?? basic;
  if (clientId === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing');
  return clientId;
}

interface Basic {
  readonly user: string;
  readonly password: string;
}

/** Reads Basic credentials, whose parts are form-encoded (RFC 6749 §2.3.1). */
export function readBasic(header: string | undefined): Basic | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  return { user: decode(text.slice(0, colon)), password: decode(text.slice(colon + 1)) };
}

/** Accepts unencoded credentials too, unless they look encoded. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part.replace(/\+/g, ' '));
  } catch {
    return part;
  }
}
