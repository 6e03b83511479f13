/** Annotations allowed on pods, Deployments and Services if the administrator lists none. `prefix/*` allows all of a prefix. */
export const POD_ANNOTATIONS: readonly string[] = [
  'kubectl.kubernetes.io/default-container',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'karpenter.sh/do-not-disrupt',
  'prometheus.io/*',
];

/** Returns whether a tenant may set an annotation on rendered objects. Controllers and meshes act on annotations. */
export function isAllowedAnnotation(name: string, allowed: readonly string[] = POD_ANNOTATIONS): boolean {
  return allowed.some((one) => (one.endsWith('/*') ? name.startsWith(one.slice(0, -1)) : name === one));
}
