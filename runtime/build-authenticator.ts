import { createProxyDispatcher, isProxied } from '#lib/connections/proxy';
import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import type { GatewayOptions } from '#runtime/gateway-options';
import { checkIncomingFiles } from '#runtime/incoming/check-files';
import { endpointUrl, metadataUrl } from '#runtime/http/resource-metadata';
import { createAuthenticator } from '#runtime/incoming/create-authenticator';
import type { Authenticator } from '#runtime/incoming/identity';

/**
 * Boundary 1 of a run configuration. Undefined `authServer`: there is none in this process.
 * @throws ConfigError
 */
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
    // Like all files that the configuration names: relative to it, and followed.
    readFile: (path) => new Promise((resolve) => resolve(files.read(path))),
    embeddedKeys: authServer?.jwks,
    embeddedKeysMayCome: authServer && (() => authServer.keysMayCome()),
    embeddedSessions: authServer?.sessions,
    groupsClaim: authz?.groups_claim,
    lookedUp: observer.tokenLookedUp,
    dispatcherFor: isProxied(proxy) ? (connect) => createProxyDispatcher(connect, proxy) : undefined,
  });
}
