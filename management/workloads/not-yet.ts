import type { WorkloadState } from './workload-state.ts';

/** What people are told of a workload that is not as it was awaited ("stopped"), but otherwise. */
export function tellNotYet(
  name: string,
  awaited: string,
  { status, context }: { status: WorkloadState['status'] | 'gone'; context: string },
): string {
  return `${name} is not ${awaited} but ${status}${context === '' ? '' : `: ${context}`}`;
}
