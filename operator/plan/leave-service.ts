import { valueAt } from '#crds/parts/rule';

/**
 * Seconds that a container waits before it is told to end. Its endpoint leaves the Service meanwhile, which every node takes over in
 * its own time: kube-proxy once a second at most, and later where the node is busy. Who connects before that is still served.
 */
const LEAVES = 5;

/**
 * The wait of a container before it is told to end; undefined where the pod ends at once. It is part of the time that
 * `podTemplateSpec` gives the pod: at most half of that, so that calls under way have the other half.
 */
export function leaveService(podTemplate: unknown): { preStop: { sleep: { seconds: number } } } | undefined {
  const grace = valueAt(podTemplate, ['spec', 'terminationGracePeriodSeconds']);
  const seconds = typeof grace === 'number' ? Math.min(LEAVES, Math.floor(grace / 2)) : LEAVES;
  return seconds < 1 ? undefined : { preStop: { sleep: { seconds } } };
}
