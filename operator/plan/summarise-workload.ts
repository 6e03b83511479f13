import type { Status } from '#crds/kinds/status';
import type { Manifest, ObservedDeployment, PodProblem } from '../snapshot.ts';
import type { Finding } from './finding.ts';

export interface Workload {
  child: string;
  observed: ObservedDeployment | undefined;
}

export function remedyFor({ child, observed }: Workload): string {
  if (observed?.podProblem) return `The pods of ${child} do not start: ${observed.podProblem.message}`;
  const problem = observed?.problem;
  const said = problem === undefined ? '' : `: ${problem}`;
  return `The pods of ${child} do not start${said}. See kubectl describe pods and their logs, and mend what they say.`;
}

export function podsReason({ observed }: Workload): PodProblem['reason'] | undefined {
  return observed?.problem === undefined ? observed?.podProblem?.reason : 'PodsFail';
}

/** Returns whether an earlier generation served: it keeps serving while new pods start. */
export function servedBefore({ status }: Manifest): boolean {
  return (status as Partial<Status> | undefined)?.observedGeneration !== undefined;
}

export function programFinding(workload: Workload, manifest: Manifest): Finding {
  const type = 'Ready';
  const { observed } = workload;
  if (!observed) {
    return { type, status: 'False', reason: 'PodsNotMade', message: 'Its pods are being made: wait.' };
  }
  if (observed.readyReplicas > 0 && (observed.complete || servedBefore(manifest))) {
    return {
      type,
      status: 'True',
      reason: 'PodsReady',
      message: 'Its pods are ready. A VirtualMCPServer says in its status whether it answers.',
    };
  }
  if (observed.complete) {
    const message = 'No pod is wanted: write backendReplicas above 0.';
    return { type, status: 'False', reason: 'NoPods', message };
  }
  const reason = podsReason(workload);
  if (reason !== undefined) return { type, status: 'False', reason, message: remedyFor(workload) };
  const message = 'Its pods are not ready yet: wait, or see kubectl describe pods and their logs.';
  return { type, status: 'False', reason: 'PodsNotReady', message };
}

function countReady({ readyReplicas, replicas, wanted = replicas }: ObservedDeployment): string {
  if (readyReplicas >= wanted) return 'Pods of a former shape are still being replaced: wait.';
  return `${readyReplicas} of ${wanted} pods are ready: wait.`;
}

export function rolloutFindings(workload: Workload): Finding[] {
  const { observed } = workload;
  if (!observed || observed.complete) return [];
  const type = 'Reconciling';
  const hinders = podsReason(workload);
  const reason = hinders === 'PodsFail' ? 'RolloutHangs' : 'RollingOut';
  const message = hinders === undefined ? countReady(observed) : remedyFor(workload);
  return [{ type, status: 'True', reason, message }];
}
