import { hashId } from '../ids.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import { withoutLoopbackPort } from '#crds/parts/redirect-uri';
import type { AuthorizeRequest } from '../storage/rows.ts';

/** Undefined: never remembered, because any local program can use a metadata document's public URL with loopback or a custom scheme. */
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
