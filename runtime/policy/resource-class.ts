import type { Mentions } from '#crds/policy/mentions';
import type { ParsedPolicy } from '#crds/policy/parse';
import type { PolicyResource } from './authorizer.ts';
import type { PolicyValue } from './normalise-value.ts';
import { createValueClassifiers } from './value-class.ts';

export type ResourceClassifier = (
  resource: PolicyResource,
  attributes: Readonly<Record<string, PolicyValue>>,
) => readonly unknown[];

/** One class has none of the named `ids`, the same parents, and the same classes of attributes: no policy can distinguish its members. */
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
