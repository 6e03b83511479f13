import type { Authz } from '#crds/run-config/incoming';
import type { AuthorizerOptions } from './authorize.ts';
import type { Authorizer } from './authorizer.ts';
import { openAuthorizer } from './open-authorizer.ts';

/**
 * Loads the policies of one boundary; Cedar itself is loaded when the first policies are. `authz` absent: every
 * authenticated caller gets in.
 * @throws ConfigError that names each policy that does not validate
 */
export async function loadAuthorizer(authz: Authz | undefined, options: AuthorizerOptions): Promise<Authorizer> {
  if (authz === undefined) return openAuthorizer();
  const { createAuthorizer } = await import('./authorize.ts');
  return createAuthorizer(authz, options);
}
