import type { AuthServerConfig } from '#crds/parts/auth-server-config';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';
import { renderAuthServerStorage } from './render-storage.ts';
import { redirectUriOf, renderUpstream } from './render-upstream.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;

/** The embedded authorization server of one document. */
export interface ResolvedAuthServer {
  document: AuthServerDocument;
  redirectUris: Record<string, string>;
}

function refuse(message: string): never {
  throw new Stalled('InvalidAuthServerConfig', message);
}

/** Its tokens are what boundary 1 accepts: the same issuer, and the endpoint as audience. Returns the endpoint's URL. */
function checkIncoming(issuer: string, incoming: RunConfigDocument['incoming'], endpoint: string | undefined): string {
  if (incoming.type !== 'oidc' || incoming.jwks) {
    refuse('authServerConfig needs incomingAuth.type oidc with its own issuer: write it there');
  }
  if (incoming.issuer !== issuer) {
    refuse(
      `incomingAuth has the issuer "${incoming.issuer}", authServerConfig "${issuer}": ` +
        'write the same text in both, as clients compare them byte for byte',
    );
  }
  if (endpoint === undefined) {
    refuse('authServerConfig needs incomingAuth.resourceUrl: it is the audience of the tokens that are issued');
  }
  if (incoming.audience !== endpoint) {
    refuse(`with authServerConfig the audience must be the resourceUrl "${endpoint}": write that, or remove audience`);
  }
  return endpoint;
}

function renderKeys(config: AuthServerConfig, files: FileList) {
  const [signing, ...fallback] = (config.signingKeySecretRefs ?? []).map((reference, index) =>
    files.secret(reference, `authServerConfig.signingKeySecretRefs[${index}]`),
  );
  return defined({
    signing_key_config: signing === undefined ? undefined : { signing_key_file: signing, fallback_key_files: fallback },
    hmac_secret_files: config.hmacSecretRefs?.map((reference, index) =>
      files.secret(reference, `authServerConfig.hmacSecretRefs[${index}]`),
    ),
  });
}

function renderBounds(config: AuthServerConfig) {
  const { tokenLifespans, limits } = config;
  return {
    token_lifespans: {
      access_token_lifespan: tokenLifespans.accessTokenLifespan,
      refresh_token_lifespan: tokenLifespans.refreshTokenLifespan,
      auth_code_lifespan: tokenLifespans.authCodeLifespan,
    },
    revalidate_after: config.revalidateAfter,
    limits: {
      registrations_per_minute: limits.registrationsPerMinute,
      clients: limits.clients,
      pending_logins: limits.pendingLogins,
      pending_login_lifespan: limits.pendingLoginLifespan,
    },
  };
}

/** The embedded authorization server. Throws `Stalled` for what contradicts boundary 1, `Waiting` for missing secrets. */
export function resolveAuthServer(
  config: AuthServerConfig,
  incoming: RunConfigDocument['incoming'],
  resourceUrl: string | undefined,
  keyPrefix: string,
  files: FileList,
): ResolvedAuthServer {
  const endpoint = checkIncoming(config.issuer, incoming, resourceUrl);
  const base = config.authorizationEndpointBaseUrl ?? config.issuer;
  const document: AuthServerDocument = defined({
    issuer: config.issuer,
    authorization_endpoint_base_url: config.authorizationEndpointBaseUrl,
    insecure_allow_http: config.insecureAllowHTTP,
    allowed_audiences: [endpoint],
    scopes_supported: config.scopesSupported,
    ...renderKeys(config, files),
    ...renderBounds(config),
    primary_upstream_provider:
      config.primaryUpstreamProvider ?? config.upstreamProviders.find(({ required }) => required)?.name,
    upstreams: config.upstreamProviders.map((provider) => renderUpstream(provider, base, files)),
    storage: renderAuthServerStorage(config.storage, keyPrefix, files),
    cimd: config.cimd,
    registration: defined({
      enabled: config.registration.enabled,
      allowed_redirect_hosts: config.registration.allowedRedirectHosts,
    }),
    introspection_clients: config.introspectionClients?.map(({ clientId, clientSecretRef }, index) => ({
      client_id: clientId,
      client_secret_file: files.secret(clientSecretRef, `authServerConfig.introspectionClients[${index}]`),
    })),
  });
  const uris = config.upstreamProviders.map((provider) => [provider.name, redirectUriOf(provider, base)] as const);
  return { document, redirectUris: Object.fromEntries(uris) };
}
