import type { Mentions } from '#crds/policy/mentions';
import type { PolicyResource } from './authorizer.ts';
import type { Target } from './cedar-request.ts';

/**
 * Returns the one target of all resources of a backend that policies neither name nor read an attribute of; undefined for any other
 * resource. Such a target needs no key, which makes the first list of many tools cheap. Holds one target for each named id at most.
 */
export function createUnnamedTargets(
  ids: ReadonlySet<string>,
  { resourceAttributes }: Mentions,
  read: (resource: PolicyResource) => Target,
): (resource: PolicyResource) => Target | undefined {
  if (resourceAttributes.length > 0) return () => undefined;
  const targets = new Map<string | undefined, Target>();
  return (resource) => {
    const { name, backend } = resource;
    if (ids.has(name) || !name.isWellFormed() || !backend.isWellFormed()) return undefined;
    const named = ids.has(backend) ? backend : undefined;
    const known = targets.get(named);
    if (known !== undefined) return known;
    const target = read(resource);
    targets.set(named, target);
    return target;
  };
}
