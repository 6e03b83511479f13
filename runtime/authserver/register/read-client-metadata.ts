import { z } from 'zod';
import { MAX_REDIRECT_URIS, MAX_URI_LENGTH } from '#crds/parts/redirect-uri';
import { OAuthError } from '../errors.ts';
import type { ClientRow } from '../storage/rows.ts';
import { checkRedirectUri, isAllowedHost } from './check-redirect-uri.ts';

const MAX_NAME = 100;
const MAX_SCOPE = 4096;

/** RFC 7591 §2. A member of another type counts as absent: real clients send many, and an ignored member does no harm. */
const Metadata = z.object({
  redirect_uris: z.array(z.string().max(MAX_URI_LENGTH)).min(1).max(MAX_REDIRECT_URIS),
  client_name: z.string().optional().catch(undefined),
  scope: z.string().max(MAX_SCOPE).optional().catch(undefined),
  application_type: z.enum(['native', 'web']).optional().catch(undefined),
});

/** All clients are public, whatever they request (RFC 7591 §3.2.1), and get both grants. */
const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

export interface MetadataRules {
  readonly scopesSupported: readonly string[];
  readonly allowedRedirectHosts: readonly string[] | undefined;
}

/** `scope` is undefined when none is supported. @throws OAuthError `invalid_client_metadata`, `invalid_redirect_uri` */
export function readClientMetadata(
  document: unknown,
  { scopesSupported, allowedRedirectHosts }: MetadataRules,
): Omit<ClientRow, 'client_id' | 'registered_at'> {
  const parsed = Metadata.safeParse(document);
  if (!parsed.success) throw malformed(parsed.error);
  const { redirect_uris: uris, client_name, scope, application_type } = parsed.data;
  for (const uri of uris) checkRedirectUri(uri);
  const allowed = uris.filter((uri) => isAllowedHost(uri, allowedRedirectHosts));
  if (allowed.length === 0) {
    throw new OAuthError('invalid_redirect_uri', 'No redirect URI is at a host that is allowed here');
  }
  const asked = new Set(scope?.split(' '));
  return {
    client_name: nameOf(client_name),
    redirect_uris: [...new Set(allowed)],
    grant_types: GRANT_TYPES,
    scope: scopesSupported.filter((one) => asked.has(one)).join(' ') || undefined,
    application_type,
  };
}

function malformed({ issues: [issue] }: z.ZodError): OAuthError {
  if (issue?.path[0] !== 'redirect_uris') {
    return new OAuthError('invalid_client_metadata', 'The client metadata is no JSON object');
  }
  const text = `redirect_uris must be 1 to ${MAX_REDIRECT_URIS} URIs of at most ${MAX_URI_LENGTH} characters`;
  return new OAuthError('invalid_redirect_uri', text);
}

function nameOf(name: string | undefined): string | undefined {
  const text = name
    ?.trim()
    .slice(0, MAX_NAME)
    .replace(/[\uD800-\uDBFF]$/, '');
  return text === '' ? undefined : text;
}
