import type { Identity } from '#runtime/incoming/identity';
import type { Authorizer, PolicyResource } from '#runtime/policy/authorizer';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { Backend } from '../backends/backend.ts';
import type { PolicyRooms } from './policy-rooms.ts';

/**
 * Whether a caller may know of a tool that leads to a login. It gives no access to anything: every call is decided
 * afterwards. So everybody who is authenticated sees it, unless policies let nobody in, or forbid it by name, or forbid it at
 * every backend that it is for.
 */
export function mayConnect(
  entry: CatalogueEntry,
  identity: Identity,
  { authorizer, backends, config }: PolicyRooms,
): boolean {
  if (identity.token === undefined || config.authz?.policies.length === 0) return false;
  const served = backends.all.filter(({ credential }) => credential.login?.provider === entry.connects);
  return served.some(
    (backend) =>
      !isForbidden(authorizer, entry, backend, identity) &&
      !isForbidden(backend.authorizer, entry.own ?? entry, backend, identity),
  );
}

/** By a policy that forbids, not by the want of one that permits: nobody permits what no backend offers. */
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
