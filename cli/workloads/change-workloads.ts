import { deleteWorkload, restartWorkload, startWorkload, stopWorkload } from '#management/operations/workloads';
import type { WorkloadSummary } from '#management/records/workload';
import { confirm } from '../confirm.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { changeEach } from '../management/change-each.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { waitForWorkloads } from './wait-for-workloads.ts';
import { workloadsOf } from './workload-list.ts';

export interface ChangeOptions {
  group?: string;
  /** For changes of manifests only. */
  force?: boolean;
  /** For changes that are awaited only. */
  wait?: boolean;
  /** Milliseconds. */
  timeout?: number;
  /** For irreversible changes only. */
  yes?: boolean;
}

interface Change {
  act: (api: ManagementApi, name: string, force: 'true' | 'false') => Promise<unknown>;
  concerns: (workload: WorkloadSummary) => boolean;
  until: { what: string; isDone: (workload: WorkloadSummary | undefined) => boolean };
}

const asked = (name: string, force: 'true' | 'false') => ({ params: { name }, query: { force } });

const CHANGES: Record<ChangeKind, Change> = {
  stop: {
    act: (api, name, force) => api.call(stopWorkload, asked(name, force)),
    concerns: ({ status }) => status !== 'stopped',
    until: { what: 'stopped', isDone: (one) => one?.status === 'stopped' },
  },
  start: {
    act: (api, name, force) => api.call(startWorkload, asked(name, force)),
    concerns: ({ status }) => status === 'stopped' || status === 'stopping',
    until: { what: 'running', isDone: (one) => one?.status === 'running' },
  },
  restart: {
    act: (api, name, force) => api.call(restartWorkload, asked(name, force)),
    concerns: ({ status }) => status !== 'stopped' && status !== 'stopping',
    // Until the operator has applied the change, the status is `starting`.
    until: { what: 'running', isDone: (one) => one?.status === 'running' },
  },
  rm: {
    act: (api, name) => api.call(deleteWorkload, { params: { name } }),
    concerns: () => true,
    until: { what: 'gone', isDone: (one) => one === undefined },
  },
};

export type ChangeKind = 'stop' | 'start' | 'restart' | 'rm';

/** Tries each, and waits if a server runs. Returns the names of the changed ones. @throws CliError */
export async function changeWorkloads(
  api: ManagementApi,
  kind: ChangeKind,
  names: readonly string[],
  options: ChangeOptions,
  context: Context,
  stop: AbortSignal,
): Promise<string[]> {
  const { act, concerns, until } = CHANGES[kind];
  const { force = false, wait = true, timeout: patience = 0, yes } = options;
  const chosen = await choose(api, names, options, concerns);
  if (yes !== undefined && chosen.length > 0) await confirm(`delete ${chosen.join(', ')}`, { yes }, context);
  const done: string[] = [];
  const waiting = async (): Promise<void> => {
    if (wait && api.running && done.length > 0)
      await waitForWorkloads(api, { ...until, names: done, patience }, context, stop);
  };
  try {
    await changeEach(chosen, async (name) => {
      await act(api, name, force ? 'true' : 'false');
      done.push(name);
    });
  } catch (problem) {
    // The refusal is the command's result, independent of the other workloads.
    await waiting().catch((late: unknown) => context.err.write(`${late instanceof Error ? late.message : ''}\n`));
    throw problem;
  }
  await waiting();
  return done;
}

/** @throws CliError when neither names nor a group are given, or both */
async function choose(
  api: ManagementApi,
  names: readonly string[],
  { group }: Pick<ChangeOptions, 'group'>,
  concerns: Change['concerns'],
): Promise<string[]> {
  if (names.length > 0 === (group !== undefined))
    throw new CliError(EXIT_CODES.usage, 'name workloads, or a group with --group, and not both');
  if (group === undefined) return [...new Set(names)];
  return (await workloadsOf(api, { all: true, group })).filter(concerns).map(({ name }) => name);
}
