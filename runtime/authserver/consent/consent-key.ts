import { hashId } from '../ids.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import { withoutLoopbackPort } from '../register/match-redirect-uri.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

/**
 * Names what a user consented to: this client with these scopes at this redirect URI, whatever its port on loopback. Undefined: never
 * to be remembered, as any program on the machine can call itself by the public URL of a client metadata document, and take answers on
 * loopback or at a scheme of its own.
 */
export function consentKey({
  client_id,
  redirect_uri,
  scope,
}: Pick<AuthorizeRequest, 'client_id' | 'redirect_uri' | 'scope'>): string | undefined {
  const place = withoutLoopbackPort(redirect_uri);
  if (!redirect_uri.startsWith('https:') && isDocumentUrl(client_id)) return undefined;
  return hashId(JSON.stringify([client_id, place ?? redirect_uri, [...scope].sort()]));
}
