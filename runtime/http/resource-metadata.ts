import type { Incoming } from '#crds/run-config/incoming';
import type { RunConfig } from '#crds/run-config/run-config';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** RFC 9728 §2: what a client needs to know to get a token for this endpoint. */
interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
}

/**
 * The protected resource metadata of the endpoint, or undefined where no token is asked for (the document is then 404,
 * which clients read as "no authorization"). `resource` is byte for byte the URL that the user types: clients compare it so.
 */
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

/** The paths that serve the metadata: the root one, the one of `/mcp`, and RFC 9728 §3.1 with the resource's path inserted. */
export function metadataPaths(resourceUrl: string): readonly string[] {
  return [...new Set([WELL_KNOWN, `${WELL_KNOWN}/mcp`, WELL_KNOWN + pathOf(resourceUrl)])];
}

/** The URL that a challenge names as `resource_metadata`. */
export function metadataUrl(resourceUrl: string): string {
  return new URL(resourceUrl).origin + WELL_KNOWN + pathOf(resourceUrl);
}

/**
 * The URL of the endpoint: that of the configuration, else where it listens; a bind address for all interfaces is no name.
 */
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
