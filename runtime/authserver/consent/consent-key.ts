import { hashId } from '../ids.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import { withoutLoopbackPort } from '../register/match-redirect-uri.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

/**
 * Names what a user consented to: this client with these scopes at this redirect URI, whatever its port on loopback, and the name
 * that a metadata document gave. Undefined: never to be remembered, as any program on the machine can call itself by the public URL
 * of a client metadata document, and take answers on loopback or at a scheme of its own.
 */
export function consentKey({
  client_id,
  redirect_uri,
  scope,
  client_name,
}: Pick<AuthorizeRequest, 'client_id' | 'redirect_uri' | 'scope' | 'client_name'>): string | undefined {
  const place = withoutLoopbackPort(redirect_uri);
  const hasDocument = isDocumentUrl(client_id);
  if (!redirect_uri.startsWith('https:') && hasDocument) return undefined;
  const named = hasDocument ? [client_name ?? null] : [];
  return hashId(JSON.stringify([client_id, place ?? redirect_uri, [...scope].sort(), ...named]));
}
