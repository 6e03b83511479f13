import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkloadStatus, WorkloadSummary } from '#management/records/workload';
import { tellNotYet } from '#management/workloads/workload-state';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { showProgress } from '../show-progress.ts';
import { workloadsOf } from './workload-list.ts';

interface Waiting {
  names: readonly string[];
  /** Gets undefined for a deleted workload. */
  isDone: (workload: WorkloadSummary | undefined) => boolean;
  what: string;
  /** Milliseconds. */
  patience: number;
}

const LOOK = 300;

/** Waiting does not change these. */
const SETTLED: readonly WorkloadStatus[] = ['error', 'unauthenticated'];

/** @throws CliError with code 3 and the status of the others, on timeout or if they cannot get there */
export async function waitForWorkloads(
  api: ManagementApi,
  { names, isDone, what, patience }: Waiting,
  context: Pick<Context, 'err'>,
  stop: AbortSignal,
): Promise<void> {
  const since = performance.now();
  await showProgress(
    `waiting until ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} ${what}`,
    context,
    async () => {
      for (;;) {
        const known = new Map((await workloadsOf(api, { all: true })).map((one) => [one.name, one]));
        const left = names.filter((name) => !isDone(known.get(name)));
        if (left.length === 0) return;
        const late = performance.now() - since > patience;
        const stuck = left.every((name) => SETTLED.includes(known.get(name)?.status ?? 'unknown'));
        if (late || stuck) throw notYet(left, known, what);
        await sleep(LOOK, undefined, { signal: stop }).catch(() => undefined);
        if (stop.aborted) throw new CliError(EXIT_CODES.failed, 'stopped waiting; what was asked for goes on');
      }
    },
  );
}

function notYet(left: readonly string[], known: ReadonlyMap<string, WorkloadSummary>, what: string): CliError {
  const lines = left.map((name) => {
    const { status, status_context: context = '' } = known.get(name) ?? { status: 'gone' };
    return tellNotYet(name, what, { status, context });
  });
  return new CliError(EXIT_CODES.notRunning, lines.join('\n'));
}
