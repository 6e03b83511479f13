import type { Authz } from '#crds/run-config/incoming';
import type { AuthorizerOptions } from './authorize.ts';
import type { Authorizer } from './authorizer.ts';
import { openAuthorizer } from './open-authorizer.ts';

/** Loads Cedar with the first policies. `authz` absent: admits authenticated callers. @throws ConfigError that names each invalid policy */
export async function loadAuthorizer(authz: Authz | undefined, options: AuthorizerOptions): Promise<Authorizer> {
  if (authz === undefined) return openAuthorizer();
  const { createAuthorizer } = await import('./authorize.ts');
  return createAuthorizer(authz, options);
}
