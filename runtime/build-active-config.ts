import { namesUsers } from '#crds/run-config/auth-server';
import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import { buildAuthenticator } from '#runtime/build-authenticator';
import { backendDeps, type GatewayOptions } from '#runtime/gateway-options';
import { ConfigError } from '#runtime/errors';
import { authenticatorSettings } from '#runtime/incoming/authenticator-settings';
import type { Authenticator } from '#runtime/incoming/identity';
import { buildBackends, type BuildDeps, type ActiveBackends } from '#runtime/mcp/backends/build-backends';
import type { Authorizer } from '#runtime/policy/authorizer';
import { loadAuthorizer } from '#runtime/policy/load-authorizer';
import { openRateLimits, type OpenRateLimits } from '#runtime/rate-limits/open-rate-limits';

export interface ActiveConfig {
  readonly config: RunConfig;
  readonly authServer: AuthServer | undefined;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly backends: ActiveBackends;
  readonly rateLimits: OpenRateLimits;
}

export interface MakingDeps extends Pick<
  BuildDeps,
  | 'exchanged'
  | 'deadlines'
  | 'bufferedBytes'
  | 'parkedCalls'
  | 'listenStreams'
  | 'apps'
  | 'now'
  | 'listChanged'
  | 'changed'
  | 'credentialChanged'
> {
  readonly options: GatewayOptions;
}

/** Builds the objects of a configuration and reuses unchanged ones. @throws ConfigError; then it closes everything that it built */
export async function buildActiveConfig(
  config: RunConfig,
  before: ActiveConfig,
  authServer: AuthServer | undefined,
  { options, ...deps }: MakingDeps,
): Promise<ActiveConfig> {
  const { log, observer, files } = options;
  const authorizer = same(authorizerSettings(before.config), authorizerSettings(config))
    ? before.authorizer
    : await loadServerPolicies(config, options);
  const authenticator = same(authenticatorSettings(before.config), authenticatorSettings(config))
    ? before.authenticator
    : buildAuthenticator(config, options, authServer);
  let rateLimits = before.rateLimits;
  try {
    const { now } = deps;
    rateLimits = await openRateLimits(config, before.rateLimits, {
      readSecret: files.read,
      log,
      now,
      count: observer.rateLimited,
    });
    const backends = await buildBackends(config, before.backends, {
      ...backendDeps(options),
      ...deps,
      userTokens: authServer?.userTokens,
    });
    return { config, authServer, authenticator, authorizer, backends, rateLimits };
  } catch (error) {
    if (authenticator !== before.authenticator) authenticator.close();
    rateLimits.abandon(before.rateLimits);
    throw error;
  }
}

export function renewAuthenticator(activeConfig: ActiveConfig, options: GatewayOptions): Authenticator {
  try {
    return buildAuthenticator(activeConfig.config, options, activeConfig.authServer);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { message: reason } = error;
    options.log.error('changed files of the incoming authentication cannot be used; the former stay', { reason });
    return activeConfig.authenticator;
  }
}

export async function closeActiveConfig(
  { authenticator, backends, rateLimits }: ActiveConfig,
  before: ActiveConfig,
): Promise<void> {
  if (authenticator !== before.authenticator) authenticator.close();
  rateLimits.abandon(before.rateLimits);
  await Promise.all(backends.leave(before.backends).map((backend) => backend.close()));
}

/** Loads the policies of the server. @throws ConfigError */
export function loadServerPolicies(config: RunConfig, { log, observer }: GatewayOptions): Promise<Authorizer> {
  const { authz, usersAreNamed } = authorizerSettings(config);
  return loadAuthorizer(authz, { log, metrics: observer.policy, usersAreNamed });
}

function authorizerSettings({ authz, embedded_auth_server_config: authServer }: RunConfig) {
  return { authz, usersAreNamed: namesUsers(authServer) };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
