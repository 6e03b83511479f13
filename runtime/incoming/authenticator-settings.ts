import type { RunConfig } from '#crds/run-config/run-config';

/** Returns the settings of boundary 1. While they stay the same, the authenticator and its cached tokens stay. */
export function authenticatorSettings({ incoming, resource_url: resourceUrl, authz, limits }: RunConfig): unknown {
  const { jwks_max_age: maxAge, jwks_cooldown: cooldown, introspection_cache: remembered } = limits;
  return [incoming, resourceUrl, authz?.groups_claim, maxAge, cooldown, remembered];
}
