import type { RunConfig } from '#crds/run-config/run-config';
import type { AuthServer } from '#runtime/authserver/auth-server';
import { buildAuthenticator } from '#runtime/build-authenticator';
import { backendDeps, type GatewayOptions } from '#runtime/gateway-options';
import { authenticatorSettings } from '#runtime/incoming/authenticator-settings';
import type { Authenticator } from '#runtime/incoming/identity';
import { buildBackends, type BuildDeps, type LiveBackends } from '#runtime/mcp/backends/build-backends';
import type { Authorizer } from '#runtime/policy/authorizer';
import { loadAuthorizer } from '#runtime/policy/load-authorizer';
import { openRateLimits, type OpenRateLimits } from '#runtime/rate-limits/open-rate-limits';

/** What a run configuration makes; a reload makes only what has changed. */
export interface InForce {
  readonly config: RunConfig;
  readonly authServer: AuthServer | undefined;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly backends: LiveBackends;
  readonly rateLimits: OpenRateLimits;
}

/** What outlives each of them. */
export interface MakingDeps extends Pick<
  BuildDeps,
  'exchanged' | 'deadlines' | 'keptBytes' | 'now' | 'listChanged' | 'changed' | 'credentialChanged'
> {
  readonly options: GatewayOptions;
}

/** What is the same goes on. @throws ConfigError, and then nothing that was made for it is left open */
export async function makeInForce(
  config: RunConfig,
  before: InForce,
  authServer: AuthServer | undefined,
  { options, ...deps }: MakingDeps,
): Promise<InForce> {
  const { log, observer, files } = options;
  const authorizer = same(before.config.authz, config.authz)
    ? before.authorizer
    : await loadAuthorizer(config.authz, { log, metrics: observer.policy });
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

/** It is not wanted after all. */
export async function unmakeInForce({ authenticator, backends, rateLimits }: InForce, before: InForce): Promise<void> {
  if (authenticator !== before.authenticator) authenticator.close();
  rateLimits.abandon(before.rateLimits);
  await Promise.all(backends.leave(before.backends).map((backend) => backend.close()));
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
