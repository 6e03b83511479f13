import { randomUUID } from 'node:crypto';
import type { Authz } from '#crds/run-config/incoming';
import type { AuthorizerOptions } from './authorize.ts';
import type { Authorizer, Decision } from './authorizer.ts';

const ALLOWED: Decision = { allowed: true, wouldDeny: false, policies: [] };

/**
 * Loads the policies of one boundary; Cedar itself is loaded when the first policies are. `authz` absent: every
 * authenticated caller gets in.
 * @throws ConfigError that names each policy that does not validate
 */
export async function loadAuthorizer(authz: Authz | undefined, options: AuthorizerOptions): Promise<Authorizer> {
  if (authz === undefined)
    return { id: randomUUID(), readsArguments: false, decide: () => ALLOWED, visible: () => true };
  const { createAuthorizer } = await import('./authorize.ts');
  return createAuthorizer(authz, options);
}
