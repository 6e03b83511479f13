import { hashId } from '../ids.ts';
import { withoutLoopbackPort } from '../register/match-redirect-uri.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

/**
 * Names what a user consented to: this client with these scopes at this redirect URI, whatever its port on loopback. Undefined: never
 * to be remembered, as any program on the machine can call itself by the public URL of a client metadata document.
 */
export function consentKey({
  client_id,
  redirect_uri,
  scope,
}: Pick<AuthorizeRequest, 'client_id' | 'redirect_uri' | 'scope'>): string | undefined {
  const place = withoutLoopbackPort(redirect_uri);
  if (place !== undefined && isDocumentUrl(client_id)) return undefined;
  return hashId(JSON.stringify([client_id, place ?? redirect_uri, [...scope].sort()]));
}

/** A client that names itself by the URL of its metadata document; ids of registered clients never look like one. */
export function isDocumentUrl(clientId: string): boolean {
  return clientId.startsWith('https://');
}
