import { hashId } from '../ids.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import { withoutLoopbackPort } from '../register/match-redirect-uri.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';

/**
 * Returns the key of a consent: the client, its scopes and its redirect URI without a loopback port, and the name from a metadata
 * document. Returns undefined when a consent must not be remembered: any local program can use the public URL of a client metadata
 * document and receive answers on loopback or a custom scheme.
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
