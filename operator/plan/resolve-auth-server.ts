import type { Status } from '#crds/kinds/status';
import type { AuthServerConfig } from '#crds/parts/auth-server-config';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { LOOK_AGAIN, Stalled, Waiting } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import { defined } from './defined.ts';
import type { FileList, KeyReference } from './file-list.ts';
import { renderAuthServerStorage } from './render-storage.ts';
import { renderAssertionIssuer, renderClient } from './render-client.ts';
import { redirectUriOf, type ResolvedUpstream, resolveUpstream } from './render-upstream.ts';
import type { Finding } from './finding.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;

export interface AuthServerOptions {
  /** The URL that clients enter: the audience of all tokens. */
  resourceUrl: string | undefined;
  /** Prefix of all keys that it writes to a shared store. */
  keyPrefix: string;
  /** Set on one machine without written storage: the database and secrets that outlive a restart. */
  kept?: { database: string; secrets: NonNullable<Snapshot['generated'][string]> } | undefined;
}

export interface ResolvedAuthServer {
  document: AuthServerDocument;
  redirectUris: Record<string, string>;
  warnings: Finding[];
}

function refuse(message: string): never {
  throw new Stalled('InvalidAuthServerConfig', message);
}

/** Verifies that boundary 1 accepts the server's tokens: same issuer, endpoint as audience. Returns the endpoint's URL. */
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

/** Returns the written list, or the one that the platform generated. Without either, a restart loses the key. */
function keyFiles(
  written: KeyReference[] | undefined,
  field: string,
  which: 'signingKey' | 'hmacSecret',
  { kept }: AuthServerOptions,
  files: FileList,
): string[] {
  const named = (written ?? []).map((reference, index) =>
    files.secret(reference, `authServerConfig.${field}[${index}]`, [
      which === 'signingKey' ? 'no signing key' : 'short',
    ]),
  );
  if (named.length > 0 || !kept) return named;
  const digest = kept.secrets[which];
  if (digest !== undefined) return [files.generated(which, digest)];
  throw new Waiting(
    'KeysNotMade',
    'the keys of the authorization server are not made yet: they are made at the next look',
  );
}

function renderKeys(config: AuthServerConfig, place: AuthServerOptions, files: FileList) {
  const { signingKeySecretRefs, hmacSecretRefs } = config;
  const [signing, ...older] = keyFiles(signingKeySecretRefs, 'signingKeySecretRefs', 'signingKey', place, files);
  const secrets = keyFiles(hmacSecretRefs, 'hmacSecretRefs', 'hmacSecret', place, files);
  return defined({
    signing_key_config: signing === undefined ? undefined : { signing_key_file: signing, fallback_key_files: older },
    hmac_secret_files: secrets.length === 0 ? undefined : secrets,
  });
}

function renderStorage(
  { storage }: AuthServerConfig,
  { kept, keyPrefix }: AuthServerOptions,
  files: FileList,
): NonNullable<AuthServerDocument['storage']> {
  return kept ? { type: 'sqlite', file: kept.database } : renderAuthServerStorage(storage, keyPrefix, files);
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

const OUT_OF_SERVICE = 'ProviderOutOfService';

function outOfService(upstreams: ResolvedUpstream[], primary: string | undefined): Finding[] {
  const found = upstreams.flatMap(({ document: { name, required }, missing }) => {
    if (!missing) return [];
    const needed = required ? 'logins that need it fail' : 'logins go on without it';
    const logins = name === primary ? 'nobody can log in' : needed;
    const effect = `until then provider "${name}" is out of service in every runtime that starts, and ${logins}`;
    return [{ reason: missing.reason, message: `${missing.message} (${effect})` }];
  });
  const [first] = found;
  if (!first) return [];
  const isOneReason = found.every(({ reason }) => reason === first.reason);
  const reason = isOneReason ? first.reason : 'SeveralProvidersOut';
  const message = found.map((one) => (isOneReason ? one.message : `${one.reason}: ${one.message}`)).join('; ');
  return [{ type: OUT_OF_SERVICE, status: 'True', reason, message }];
}

/** Returns when to plan a server again that lacks a provider. The event of the missing Secret may get lost. */
export function lookForProviders({ conditions }: Pick<Status, 'conditions'>): { requeueAfter?: number } {
  return conditions.some(({ type }) => type === OUT_OF_SERVICE) ? { requeueAfter: LOOK_AGAIN } : {};
}

/** A provider without its secret is out of service. @throws Stalled for a contradiction of boundary 1; Waiting for own secrets */
export function resolveAuthServer(
  config: AuthServerConfig,
  incoming: RunConfigDocument['incoming'],
  place: AuthServerOptions,
  files: FileList,
): ResolvedAuthServer {
  const endpoint = checkIncoming(config.issuer, incoming, place.resourceUrl);
  const base = config.authorizationEndpointBaseUrl ?? config.issuer;
  const primary = config.primaryUpstreamProvider ?? config.upstreamProviders.find(({ required }) => required)?.name;
  // The key files come first, because pods show the order of the list.
  const keys = renderKeys(config, place, files);
  const upstreams = config.upstreamProviders.map((provider) => resolveUpstream(provider, base, files));
  const document: AuthServerDocument = defined({
    issuer: config.issuer,
    authorization_endpoint_base_url: config.authorizationEndpointBaseUrl,
    insecure_allow_http: config.insecureAllowHTTP,
    allowed_audiences: [endpoint],
    scopes_supported: config.scopesSupported,
    ...keys,
    ...renderBounds(config),
    primary_upstream_provider: primary,
    upstreams: upstreams.map((upstream) => upstream.document),
    storage: renderStorage(config, place, files),
    cimd: config.cimd,
    registration: defined({
      enabled: config.registration.enabled,
      allowed_redirect_hosts: config.registration.allowedRedirectHosts,
    }),
    clients: config.clients?.map((client) => renderClient(client, files)),
    identity_assertions: config.identityAssertions?.map((issuer) => renderAssertionIssuer(issuer, files)),
    blocked_users: config.blockedUsers,
    introspection_clients: config.introspectionClients?.map(({ clientId, clientSecretRef }, index) => ({
      client_id: clientId,
      client_secret_file: files.credential(clientSecretRef, `authServerConfig.introspectionClients[${index}]`),
    })),
  });
  const uris = config.upstreamProviders.map((provider) => [provider.name, redirectUriOf(provider, base)] as const);
  return { document, redirectUris: Object.fromEntries(uris), warnings: outOfService(upstreams, primary) };
}
