import { valueAt } from '#crds/parts/rule';

/** Seconds in which a leaving pod serves new connections: kube-proxy removes its endpoint within a second, or later on a busy node. */
const LEAVES = 5;

/** Returns the delay before a container ends, at most half of the template's grace period: calls in flight have the other half. */
export function leaveService(podTemplate: unknown): { preStop: { sleep: { seconds: number } } } | undefined {
  const grace = valueAt(podTemplate, ['spec', 'terminationGracePeriodSeconds']);
  const seconds = typeof grace === 'number' ? Math.min(LEAVES, Math.floor(grace / 2)) : LEAVES;
  return seconds < 1 ? undefined : { preStop: { sleep: { seconds } } };
}
