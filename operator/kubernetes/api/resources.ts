import { KIND_NAMES } from '#crds/kinds/index';
import { PROGRAMS, RUNTIMES } from '#operator/plan/object-parts';
import type { Kind } from '#operator/snapshot';
import type { KubeObject, Resource } from './object.ts';

const core = (plural: string): Resource => ({ group: '', version: 'v1', plural, namespaced: true });
const grouped = (group: string, version: string, plural: string): Resource => ({
  group,
  version,
  plural,
  namespaced: true,
});

export const SECRETS = core('secrets');
export const CONFIG_MAPS = core('configmaps');
export const PODS = core('pods');
export const EVENTS = core('events');
export const DEPLOYMENTS = grouped('apps', 'v1', 'deployments');

const CHILDREN: Record<string, Resource> = {
  'v1 Secret': SECRETS,
  'v1 ConfigMap': CONFIG_MAPS,
  'v1 Service': core('services'),
  'v1 ServiceAccount': core('serviceaccounts'),
  'apps/v1 Deployment': DEPLOYMENTS,
  'policy/v1 PodDisruptionBudget': grouped('policy', 'v1', 'poddisruptionbudgets'),
  'autoscaling/v2 HorizontalPodAutoscaler': grouped('autoscaling', 'v2', 'horizontalpodautoscalers'),
  'networking.k8s.io/v1 NetworkPolicy': grouped('networking.k8s.io', 'v1', 'networkpolicies'),
};

/** Kinds that only stdio images without a command need. */
const ATTACH_CHILDREN: Record<string, Resource> = {
  'apps/v1 StatefulSet': grouped('apps', 'v1', 'statefulsets'),
  'rbac.authorization.k8s.io/v1 Role': grouped('rbac.authorization.k8s.io', 'v1', 'roles'),
  'rbac.authorization.k8s.io/v1 RoleBinding': grouped('rbac.authorization.k8s.io', 'v1', 'rolebindings'),
};

export const OUR_PODS = `app.kubernetes.io/name in (${[...RUNTIMES, PROGRAMS].join(',')})`;

export const FIELD_MANAGER = 'vmcp-operator';

export const MANAGED_BY = 'app.kubernetes.io/managed-by=vmcp-operator';

/** Returns the kinds of children to watch as whole objects: all but Secrets. */
export function watchedChildren(stdioAttach: boolean): Resource[] {
  const all = Object.values({ ...CHILDREN, ...(stdioAttach ? ATTACH_CHILDREN : {}) });
  return all.filter((resource) => resource !== SECRETS);
}

/** Returns the API resource of a child. @throws Error for a kind that the operator does not create */
export function childResource({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): Resource {
  const type = `${apiVersion} ${kind}`;
  const resource = CHILDREN[type] ?? ATTACH_CHILDREN[type];
  if (!resource) throw new Error(`${type} is no kind of child`);
  return resource;
}

export function ownResource(kind: Kind, apiGroup: string): Resource {
  return { group: apiGroup, version: 'v1alpha1', plural: KIND_NAMES[kind].plural, namespaced: true };
}
