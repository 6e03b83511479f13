import { listWorkloads } from '#management/operations/workloads';
import type { WorkloadSummary } from '#management/records/workload';
import type { Context } from '../context.ts';
import type { ManagementApi } from '../management/management-api.ts';
import type { Listing } from '../print-records.ts';

export const WORKLOADS: Listing<WorkloadSummary> = {
  columns: ['NAME', 'STATUS', 'GROUP', 'TRANSPORT', 'RUNS', 'URL', 'REASON'],
  row: (one) => [
    one.name,
    one.status,
    one.group,
    one.transport_type,
    one.remote ? 'elsewhere' : one.package,
    // A stdio workload has no address to open.
    one.url?.startsWith('http') === true ? one.url : '',
    one.status_context,
  ],
  name: ({ name }) => name,
  none: (typed) =>
    `no workloads: ${typed('run <source>')} starts one, ${typed('list --all')} shows those that do not run`,
};

export interface Selection {
  all: boolean;
  group?: string;
}

/** Without the number of hidden workloads, a failed new workload would be missed. */
export async function tellOthers(
  api: ManagementApi,
  shown: readonly WorkloadSummary[],
  selection: Selection,
  { err, typed }: Pick<Context, 'err' | 'typed'>,
): Promise<void> {
  const names = new Set(shown.map(({ name }) => name));
  const others = (await workloadsOf(api, { ...selection, all: true })).filter(({ name }) => !names.has(name)).length;
  if (others > 0) err.write(`${others} more ${others === 1 ? 'does' : 'do'} not run: ${typed('list --all')}\n`);
}

export async function workloadsOf(api: ManagementApi, { all, group }: Selection): Promise<WorkloadSummary[]> {
  const query = { all: all ? ('true' as const) : ('false' as const), ...(group !== undefined && { group }) };
  return (await api.call(listWorkloads, { query })).body.workloads;
}
