import { createProxyDispatcher, isProxied } from '#lib/connections/proxy';
import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import type { GatewayOptions } from '#runtime/gateway-options';
import { checkIncomingFiles } from '#runtime/incoming/check-files';
import { endpointUrl, metadataUrl } from '#runtime/http/resource-metadata';
import { createAuthenticator } from '#runtime/incoming/create-authenticator';
import type { Authenticator } from '#runtime/incoming/identity';

/** Returns boundary 1 of a run configuration. `authServer`: undefined without an embedded authorization server. @throws ConfigError */
export function buildAuthenticator(
  config: RunConfig,
  { files, log, observer, proxy, listening }: GatewayOptions,
  authServer: AuthServer | undefined,
): Authenticator {
  const { incoming, resource_url, limits, authz } = config;
  checkIncomingFiles(incoming, files.read);
  return createAuthenticator(incoming, {
    resourceUrl: resource_url,
    metadataUrl: metadataUrl(endpointUrl(config, listening)),
    limits: {
      jwksMaxAge: limits.jwks_max_age,
      jwksCooldown: limits.jwks_cooldown,
      introspectionCache: limits.introspection_cache,
    },
    now: Date.now,
    log,
    // The path is relative to the configuration, and its changes are watched, as for all files that the configuration names.
    readFile: (path) => new Promise((resolve) => resolve(files.read(path))),
    embeddedKeys: authServer?.jwks,
    embeddedKeysMayCome: authServer && (() => authServer.keysMayCome()),
    embeddedSessions: authServer?.sessions,
    groupsClaim: authz?.groups_claim,
    lookedUp: observer.tokenLookedUp,
    dispatcherFor: isProxied(proxy) ? (connect) => createProxyDispatcher(connect, proxy) : undefined,
  });
}
