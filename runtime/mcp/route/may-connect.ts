import type { Identity } from '#runtime/incoming/identity';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { Rooms } from '#runtime/rooms';
import type { CatalogueEntry } from '../aggregate/catalogue.ts';
import type { Backend } from '../backends/backend.ts';

/**
 * Whether a caller may know of a tool that leads to a login. It gives no access to anything: every call is decided
 * afterwards. So everybody who is authenticated sees it, unless policies let nobody in, or forbid it by name, or forbid it at
 * every backend that it is for.
 */
export function mayConnect(
  entry: CatalogueEntry,
  identity: Identity,
  { authorizer, backends, config }: Rooms,
): boolean {
  if (identity.token === undefined || config.authz?.policies.length === 0) return false;
  const served = backends.all.filter(({ credential }) => credential.login?.provider === entry.connects);
  return served.some(
    (backend) =>
      !isForbidden(authorizer, entry, backend, identity) && !isForbidden(backend.authorizer, entry, backend, identity),
  );
}

/** By a policy that forbids, not by the want of one that permits: nobody permits what no backend offers. */
function isForbidden(
  authorizer: Authorizer | undefined,
  entry: CatalogueEntry,
  backend: Backend,
  identity: Identity,
): boolean {
  if (!authorizer) return false;
  const { name, originalName, annotations } = entry;
  const resource = { name, originalName, annotations, backend: backend.name };
  const { allowed, policies } = authorizer.decide(identity, 'call_tool', resource, undefined);
  return !allowed && policies.length > 0;
}
