import type { Incoming } from '#crds/run-config/incoming';
import type { RunConfig } from '#crds/run-config/run-config';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** RFC 9728 §2: the facts that a client needs to get a token for this endpoint. */
interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
}

/** Undefined if no token is required: clients read the 404 as "no authorization". Clients compare `resource` byte for byte. */
export function resourceMetadata(settings: { resourceUrl: string; incoming: Incoming }): ResourceMetadata | undefined {
  const { resourceUrl, incoming } = settings;
  if (incoming.type === 'anonymous') return undefined;
  return {
    resource: resourceUrl,
    authorization_servers: [incoming.issuer],
    ...(incoming.scopes.length > 0 && { scopes_supported: incoming.scopes }),
    bearer_methods_supported: ['header'],
  };
}

/** Returns the paths that serve the metadata: the root, `/mcp`, and the resource's path inserted (RFC 9728 §3.1). */
export function metadataPaths(resourceUrl: string): readonly string[] {
  return [...new Set([WELL_KNOWN, `${WELL_KNOWN}/mcp`, WELL_KNOWN + pathOf(resourceUrl)])];
}

export function metadataUrl(resourceUrl: string): string {
  return new URL(resourceUrl).origin + WELL_KNOWN + pathOf(resourceUrl);
}

/** Returns the URL of the endpoint: the configured one, else the bound address. A bind address for all interfaces is no host name. */
export function endpointUrl(
  {
    resource_url,
    listen,
    endpoint_prefix: prefix = '',
  }: Pick<RunConfig, 'resource_url' | 'listen' | 'endpoint_prefix'>,
  { host, port }: { readonly host: string; readonly port: number },
): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return resource_url ?? `${listen.tls ? 'https' : 'http'}://${name}:${port}${prefix}/mcp`;
}

function pathOf(resourceUrl: string): string {
  const { pathname } = new URL(resourceUrl);
  return pathname === '/' ? '' : pathname;
}
