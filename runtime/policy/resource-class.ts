import type { Mentions } from '#crds/policy/mentions';
import type { ParsedPolicy } from '#crds/policy/parse';
import type { PolicyResource } from './authorizer.ts';
import type { PolicyValue } from './normalise-value.ts';
import { createValueClassifiers } from './value-class.ts';

/** Returns the values that identify the class of a resource, from the resource and the attributes that policies mention. */
export type ResourceClassifier = (
  resource: PolicyResource,
  attributes: Readonly<Record<string, PolicyValue>>,
) => readonly unknown[];

/**
 * Puts resources that no policy can distinguish into one class: they have none of the named `ids`, the same parents, and the same classes
 * of attributes.
 */
export function createResourceClassifier(
  policies: readonly ParsedPolicy[],
  ids: ReadonlySet<string>,
  { resourceAttributes }: Mentions,
): ResourceClassifier {
  const classifiers = createValueClassifiers(policies, ['resource'], resourceAttributes);
  return ({ name, backend }, attributes) => {
    const named = [ids.has(name) ? name : null, ids.has(backend) ? backend : null];
    return [...named, ...resourceAttributes.map((attribute, index) => classifiers[index]?.(attributes[attribute]))];
  };
}
