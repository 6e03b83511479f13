import type { RunConfig } from '#crds/run-config/run-config';

/** What boundary 1 is made from: while this stays, so does the authenticator with what it remembers. */
export function authenticatorSettings({ incoming, resource_url: resourceUrl, authz, limits }: RunConfig): unknown {
  const { jwks_max_age: maxAge, jwks_cooldown: cooldown, introspection_cache: remembered } = limits;
  return [incoming, resourceUrl, authz?.groups_claim, maxAge, cooldown, remembered];
}
