import type { WorkloadState } from './workload-state.ts';

export function tellNotYet(
  name: string,
  awaited: string,
  { status, context }: { status: WorkloadState['status'] | 'gone'; context: string },
): string {
  return `${name} is not ${awaited} but ${status}${context === '' ? '' : `: ${context}`}`;
}
