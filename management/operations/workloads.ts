import type { z } from 'zod';
import { isOn } from '../flag.ts';
import type { Expected } from '../if-match.ts';
import { type Caller, NoBody, NoParams, NoQuery, Nothing, operation, PLAIN } from '../operation.ts';
import { pageOf } from '../paging.ts';
import { RunConfiguration } from '../records/run-configuration.ts';
import { OperationAccepted, WorkloadSelection } from '../records/workload-operation.ts';
import {
  LogsWanted,
  WorkloadChanged,
  WorkloadDetail,
  WorkloadEdit,
  WorkloadForced,
  WorkloadInPath,
  WorkloadList,
  WorkloadReport,
  WorkloadsWanted,
} from '../records/workload.ts';
import type { Services } from '../services.ts';
import type { StoredResource } from '../stores/resources.ts';
import type { Edited } from '../workloads/detail.ts';
import { renderChanged } from '../workloads/render-summary.ts';
import { restarted, started, stopped } from '../workloads/stop-and-start.ts';
import { versionOf } from '../workloads/permission-profiles.ts';
import { createWorkload } from './create-workload.ts';
import { beginWork, checkChange, checkStart, PORT, RECORD, workload, WRITING } from './workload-changes.ts';

const NOT_FOUND = 'there is no workload of this name';
const SERVERS = { verb: 'list', resource: 'virtualmcpservers' } as const;

export const listWorkloads = operation({
  ...PLAIN,
  number: 19,
  id: 'listWorkloads',
  method: 'GET',
  path: '/workloads',
  summary: 'List the workloads that run, or all of them',
  query: WorkloadsWanted,
  result: WorkloadList,
  problems: { not_found: 'there is no group of this name' },
  permissions: () => [{ verb: 'list', resource: 'mcpservers' }, SERVERS],
  async run({ query: { all, group, ...paging } }, { workloads }) {
    const { items, next } = pageOf(await workloads.list({ all: isOn(all), group }), ({ name }) => name, paging);
    return { body: { workloads: items, next_cursor: next } };
  },
});

export const getWorkload = operation({
  ...PLAIN,
  number: 18,
  id: 'getWorkload',
  method: 'GET',
  path: '/workloads/{name}',
  summary: 'Get a workload',
  params: WorkloadInPath,
  result: WorkloadDetail,
  givesTag: true,
  problems: { not_found: NOT_FOUND },
  permissions: ({ params: { name } }) => [workload('get', name)],
  async run({ params: { name } }, { workloads }) {
    const { detail, version } = await workloads.get(name);
    return { body: detail, etag: version };
  },
});

export const editWorkload = operation({
  number: 21,
  id: 'editWorkload',
  method: 'POST',
  path: '/workloads/{name}/edit',
  summary: 'Change a workload; what GET gave changes nothing',
  params: WorkloadInPath,
  query: WorkloadForced,
  body: WorkloadEdit,
  success: 200,
  result: WorkloadChanged,
  givesTag: true,
  takesTag: true,
  problems: { ...RECORD, not_found: NOT_FOUND, ...PORT, ...WRITING },
  first: ({ name }) => workload('update', name),
  permissions: ({ params: { name } }) => [workload('update', name)],
  audit: 'management_workload_edited',
  async run({ params: { name }, query: { force }, body, ifMatch, caller }, services) {
    const change = checkChange({ group: body.group, force: isOn(force) }, caller, services);
    const edited = await services.workloads.edit(name, body, change.check, { expected: ifMatch, force: isOn(force) });
    const about = change.warningsWith(services.workloads.warningsOf(edited));
    return { body: { ...renderChanged(edited.resource), ...about }, etag: versionOf(edited) };
  },
});

export const deleteWorkload = operation({
  ...PLAIN,
  id: 'deleteWorkload',
  method: 'DELETE',
  path: '/workloads/{name}',
  summary: 'Delete a workload',
  params: WorkloadInPath,
  success: 204,
  result: Nothing,
  takesTag: true,
  problems: { not_found: NOT_FOUND, busy: WRITING.busy },
  permissions: ({ params: { name } }) => [workload('delete', name)],
  audit: 'management_workload_deleted',
  async run({ params: { name }, ifMatch }, { workloads }) {
    await workloads.delete(name, ifMatch);
    return { body: undefined };
  },
});

/** Operations that write one field of a workload and answer 202 before the change takes effect. */
const moving = {
  method: 'POST',
  params: WorkloadInPath,
  query: WorkloadForced,
  body: NoBody,
  success: 202,
  result: WorkloadChanged,
  givesTag: true,
  takesTag: true,
  problems: { not_found: NOT_FOUND, ...WRITING },
  permissions: ({ params: { name } }: Pick<Move, 'params'>) => [workload('update', name)],
} as const;

interface Move {
  params: z.output<typeof WorkloadInPath>;
  query: z.output<typeof WorkloadForced>;
  ifMatch?: Expected | undefined;
}

async function move(
  { params: { name }, query: { force }, ifMatch }: Move,
  { workloads }: Pick<Services, 'workloads'>,
  how: (resource: StoredResource) => Edited | Promise<Edited>,
) {
  const options = { expected: ifMatch, force: isOn(force) };
  const read = await workloads.change(name, options, ({ resource }) => how(resource));
  return { body: renderChanged(read.resource), etag: versionOf(read) };
}

/** Checks the permission for the references of a workload that runs afterwards, too. */
const start = (
  input: Move & { caller: Caller },
  services: Pick<Services, 'workloads'>,
  how: (resource: StoredResource) => Edited,
) =>
  move(input, services, async (resource) => {
    await checkStart([resource], input.caller);
    return how(resource);
  });

export const stopWorkload = operation({
  ...moving,
  id: 'stopWorkload',
  path: '/workloads/{name}/stop',
  summary: 'Stop a workload, and keep everything else of it',
  audit: 'management_workload_stopped',
  run: (input, services) => move(input, services, stopped),
});

export const startWorkload = operation({
  ...moving,
  id: 'startWorkload',
  path: '/workloads/{name}/start',
  summary: 'Start a workload that was stopped',
  audit: 'management_workload_started',
  run: (input, services) => start(input, services, started),
});

export const restartWorkload = operation({
  ...moving,
  id: 'restartWorkload',
  path: '/workloads/{name}/restart',
  summary: 'Start a workload anew; one that is stopped is started',
  audit: 'management_workload_restarted',
  run(input, services) {
    const at = new Date(services.now()).toISOString();
    return start(input, services, (resource) => restarted(resource, at, services.workloads.apiGroup));
  },
});

/** `beginWork` checks the permissions for the selected workloads. */
const many = {
  method: 'POST',
  params: NoParams,
  query: NoQuery,
  body: WorkloadSelection,
  success: 202,
  result: OperationAccepted,
  problems: { too_many_requests: 'more requests than a caller may make, or 20 such operations go on here already' },
  first: () => ({ verb: 'list', resource: 'mcpservers' }) as const,
  permissions: () => [{ verb: 'list', resource: 'mcpservers' } as const],
} as const;

export const deleteWorkloads = operation({
  ...many,
  number: 16,
  id: 'deleteWorkloads',
  path: '/workloads/delete',
  summary: 'Delete workloads in the background',
  audit: 'management_workloads_deleted',
  run: async ({ body, caller }, services) => ({ body: await beginWork('delete', body, caller, services) }),
});

export const restartWorkloads = operation({
  ...many,
  number: 20,
  id: 'restartWorkloads',
  path: '/workloads/restart',
  summary: 'Start workloads anew, in the background',
  audit: 'management_workloads_restarted',
  run: async ({ body, caller }, services) => ({ body: await beginWork('restart', body, caller, services) }),
});

const getWorkloadStatus = operation({
  ...PLAIN,
  id: 'getWorkloadStatus',
  method: 'GET',
  path: '/workloads/{name}/status',
  summary: 'Tell how a workload is, and why',
  params: WorkloadInPath,
  result: WorkloadReport,
  problems: { not_found: NOT_FOUND },
  permissions: ({ params: { name } }) => [workload('get', name), SERVERS],
  run: async ({ params: { name } }, { workloads }) => ({ body: await workloads.report(name) }),
});

export const getWorkloadLogs = operation({
  ...PLAIN,
  id: 'getWorkloadLogs',
  method: 'GET',
  path: '/workloads/{name}/logs',
  summary: 'Read the log of a workload, and go on with it',
  params: WorkloadInPath,
  query: LogsWanted,
  result: Nothing,
  media: 'text/plain; charset=utf-8',
  problems: { not_found: 'there is no workload of this name, or no log of it yet' },
  permissions: ({ params: { name } }) => [
    workload('get', name),
    { verb: 'list', group: '', resource: 'pods' },
    { verb: 'get', group: '', resource: 'pods/log' },
  ],
  async run({ params: { name }, query: { lines, follow }, caller, signal }, { workloads }) {
    const wanted = { lines, follow: isOn(follow), who: caller.name, signal };
    return { body: undefined, lines: await workloads.logs(name, wanted) };
  },
});

export const exportWorkload = operation({
  ...PLAIN,
  number: 17,
  id: 'exportWorkload',
  method: 'GET',
  path: '/workloads/{name}/export',
  summary: 'Export the whole run configuration of a workload, without secrets',
  params: WorkloadInPath,
  result: RunConfiguration,
  problems: { not_found: NOT_FOUND },
  permissions: ({ params: { name } }) => [
    workload('get', name),
    { verb: 'list', resource: 'mcpexternalauthconfigs' },
    { verb: 'list', resource: 'mcpoidcconfigs' },
  ],
  run: async ({ params: { name } }, { runConfigurations }) => ({ body: await runConfigurations.render(name) }),
});

export const workloadOperations = [
  listWorkloads,
  createWorkload,
  getWorkload,
  editWorkload,
  deleteWorkload,
  stopWorkload,
  startWorkload,
  restartWorkload,
  deleteWorkloads,
  restartWorkloads,
  getWorkloadStatus,
  getWorkloadLogs,
  exportWorkload,
];
