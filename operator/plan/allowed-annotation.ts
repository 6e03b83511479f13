/** Annotations that pods, Deployments and Services may have where the administrator names no others: `prefix/*` stands for all of a prefix. */
export const POD_ANNOTATIONS: readonly string[] = [
  'kubectl.kubernetes.io/default-container',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'karpenter.sh/do-not-disrupt',
  'prometheus.io/*',
];

/** Whether the writer of a resource may give its objects an annotation: controllers and meshes take orders by them. */
export function isAllowedAnnotation(name: string, allowed: readonly string[] = POD_ANNOTATIONS): boolean {
  return allowed.some((one) => (one.endsWith('/*') ? name.startsWith(one.slice(0, -1)) : name === one));
}
