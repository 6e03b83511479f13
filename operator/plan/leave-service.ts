import { valueAt } from '#crds/parts/rule';

/**
 * Seconds between the removal of a pod's endpoint from the Service and the end of its container. New connections are
 * served meanwhile. kube-proxy on each node applies the removal within a second, or later on a busy node.
 */
const LEAVES = 5;

/**
 * Returns the delay before a container is told to end; undefined if the pod ends at once. It takes at most half of the
 * time in `podTemplateSpec`, so that calls in flight have the other half.
 */
export function leaveService(podTemplate: unknown): { preStop: { sleep: { seconds: number } } } | undefined {
  const grace = valueAt(podTemplate, ['spec', 'terminationGracePeriodSeconds']);
  const seconds = typeof grace === 'number' ? Math.min(LEAVES, Math.floor(grace / 2)) : LEAVES;
  return seconds < 1 ? undefined : { preStop: { sleep: { seconds } } };
}
