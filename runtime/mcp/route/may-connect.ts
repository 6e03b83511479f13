import type { Identity } from '#runtime/incoming/identity';
import type { Authorizer, PolicyResource } from '#runtime/policy/authorizer';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { Backend } from '../backends/backend.ts';
import type { PolicyServices } from './policy-services.ts';

/**
 * Returns whether a caller may see a connect tool. The tool grants no access, because policies decide every later call.
 * Every authenticated caller sees it, unless the server has an empty policy list, or a policy forbids the tool at every
 * backend of its provider.
 */
export function mayConnect(
  entry: CatalogueEntry,
  identity: Identity,
  { authorizer, backends, config }: PolicyServices,
): boolean {
  if (identity.token === undefined || config.authz?.policies.length === 0) return false;
  const served = backends.all.filter(({ credential }) => credential.login?.provider === entry.connects);
  return served.some(
    (backend) =>
      !isForbidden(authorizer, entry, backend, identity) &&
      !isForbidden(backend.authorizer, entry.own ?? entry, backend, identity),
  );
}

/**
 * Returns whether a policy explicitly forbids the tool. A missing permit does not count, because policies cannot permit
 * a tool that no backend offers.
 */
function isForbidden(
  authorizer: Authorizer | undefined,
  resource: PolicyResource,
  backend: Pick<Backend, 'name'>,
  identity: Identity,
): boolean {
  if (!authorizer) return false;
  const { name, originalName, annotations } = resource;
  const asked = { name, originalName, annotations, backend: backend.name };
  const { allowed, policies } = authorizer.decide(identity, 'call_tool', asked, undefined);
  return !allowed && policies.length > 0;
}
